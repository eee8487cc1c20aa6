module protean.example/filters

go 1.20
