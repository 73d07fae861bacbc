module labs/goji

go 1.21

require goji.io v2.0.2+incompatible
