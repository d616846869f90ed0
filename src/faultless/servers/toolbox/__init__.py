"""The toolbox server: a folder of your own scripts becomes tools."""
