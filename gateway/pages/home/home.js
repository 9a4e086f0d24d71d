const tell = (id, text) => {
  document.getElementById(id).textContent = text
}

tell('identity', new URL('../identity/v3', document.baseURI).href)
const [version, readiness] = await Promise.all(
  ['../version', '../readyz'].map(async (path) => (await fetch(path)).json()),
)
tell('version', version.version)
tell('ready', readiness.reason === undefined ? readiness.status : `${readiness.status}: ${readiness.reason}`)
