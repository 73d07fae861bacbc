"""Hello on FastAPI, for uvicorn: `uvicorn hello:app`."""

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

app = FastAPI()


@app.get("/", response_class=PlainTextResponse)
async def hello() -> str:
    """Answers as every server of the suite does."""
    return "hello world"
