"""Run and discover a project's tests so that the answer cannot be misread."""
