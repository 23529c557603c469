"""Batched contact pipeline: shapes and poses to contacts, on CPU and CUDA alike."""

from .contacts import SLOT_BYTES, Contacts, create_contacts
from .errors import (
    ArrayError,
    ContactError,
    HullError,
    PairError,
    ShapeError,
    UnsupportedPairError,
    UnsupportedShapeError,
)
from .hulls import Hull, cook_hull
from .model import Materials, Model, build_model
from .pairs import candidate_pairs, replicate_pairs
from .pipeline import collide
from .shapes import CombineMode, ShapeType, manifold_size, pair_is_supported

__all__ = [
    "SLOT_BYTES",
    "ArrayError",
    "CombineMode",
    "ContactError",
    "Contacts",
    "Hull",
    "HullError",
    "Materials",
    "Model",
    "PairError",
    "ShapeError",
    "ShapeType",
    "UnsupportedPairError",
    "UnsupportedShapeError",
    "build_model",
    "candidate_pairs",
    "collide",
    "cook_hull",
    "create_contacts",
    "manifold_size",
    "pair_is_supported",
    "replicate_pairs",
]
