"""Recurrent unrolls over many steps, with gradients written by hand."""
