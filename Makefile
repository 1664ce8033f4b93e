# The habits live in ./dev; this lets `make test` and `make campaign MINUTES=60` work as well.
.PHONY: demo test build lint docs bench campaign
.EXPORT_ALL_VARIABLES:
demo test build lint docs bench campaign:
	./dev $@
