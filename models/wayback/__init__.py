"""Next-symbol prediction with recurrent layers that run at their own paces, and gradients truncated layer by layer.

The model of github.com/cooijmanstim/wayback ("waybackprop"), with its authors' hyperparameters, names and numbers.
"""
