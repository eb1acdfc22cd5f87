"""Buffers in files beside the trainer's checkpoints."""
