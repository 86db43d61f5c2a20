"""The sizes and rates of a Tacotron."""

from typing import NamedTuple


class Settings(NamedTuple):
    """What the variables' shapes and the forward pass depend on.

    Attributes:
        symbol_count: Size of the vocabulary.
        n_mels: Bands of a frame.
        reduction_factor: Frames that a decoder step emits.
        embedding_units: Size of a symbol's embedding, and channels of the encoder's convolutions.
        encoder_layers, encoder_width: Number of these convolutions, and positions that a kernel sees.
        encoder_units: Both directions of the encoder's LSTM together.
        attention_units, location_filters, location_width: Of the attention.
        prenet_units: Of each of the pre-net's two layers.
        attention_lstm_units, decoder_lstm_units: Of the decoder's two LSTMs.
        postnet_layers, postnet_units, postnet_width: Of the post-net's convolutions.
        convolution_dropout: Probability, in training.
        prenet_dropout: Probability, in training (in synthesis it is handed over).
        zoneout: Probability that an LSTM's unit keeps its old state.
    """

    symbol_count: int
    n_mels: int
    reduction_factor: int
    embedding_units: int
    encoder_layers: int
    encoder_width: int
    encoder_units: int
    attention_units: int
    location_filters: int
    location_width: int
    prenet_units: int
    attention_lstm_units: int
    decoder_lstm_units: int
    postnet_layers: int
    postnet_units: int
    postnet_width: int
    convolution_dropout: float
    prenet_dropout: float
    zoneout: float
