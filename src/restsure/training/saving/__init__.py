"""Learners on disk, exactly and without pickle; whatever a file says is looked through before anything is made of it."""

from restsure.training.saving.checkpoint import read_checkpoint, write_checkpoint
from restsure.training.saving.model_file import model_bytes, model_from, read_model, types_in, write_model

__all__ = ["model_bytes", "model_from", "read_checkpoint", "read_model", "types_in", "write_checkpoint", "write_model"]
