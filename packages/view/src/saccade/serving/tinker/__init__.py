"""Tinker's client on the engine and the learner here: sampling, gradients, optimiser steps and checkpoints over HTTP.

The protocol is that of the public package ``tinker`` (Thinking Machines), version 0.38, read from its code.
"""
