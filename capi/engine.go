package main

import "errors"

// errNoEngine: this tree has no engine yet.
var errNoEngine = errors.New("this build has no engine")

func openEngine([]byte) (engine, error) { return nil, errNoEngine }

func inspect(path, queryID string) ([]byte, error) { return nil, errNoEngine }

func engineCode(error) int32 { return codeInvalid }
