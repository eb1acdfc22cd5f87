"""What several commands share: options, files, the row log, text on a terminal."""
