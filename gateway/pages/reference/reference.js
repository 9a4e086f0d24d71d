// The choice is kept in the query, so that a page can be linked to: ?service=compute&microversion=2.79

const service = document.getElementById('service')
const microversion = document.getElementById('microversion')
const link = document.getElementById('document')

const { documents } = await (await fetch('../openapi')).json()
const asked = new URLSearchParams(location.search)

fill(service, documents.map(({ name }) => name), asked.get('service'))
offerMicroversions(asked.get('microversion'))
show()
service.addEventListener('change', () => {
  offerMicroversions(null)
  show()
})
microversion.addEventListener('change', show)

function offerMicroversions(chosen) {
  const { microversions } = documents.find(({ name }) => name === service.value)
  fill(microversion, microversions.toReversed(), chosen)
  microversion.disabled = microversions.length === 0
}

function fill(select, values, chosen) {
  select.replaceChildren(...values.map((value) => new Option(value, value)))
  if (values.includes(chosen)) select.value = chosen
}

function show() {
  const choice = new URLSearchParams({ service: service.value })
  if (microversion.value !== '') choice.set('microversion', microversion.value)
  history.replaceState(null, '', `../docs?${choice}${location.hash}`)
  const query = microversion.value === '' ? '' : `?microversion=${microversion.value}`
  link.href = new URL(`../openapi/${service.value}.json${query}`, document.baseURI).href
  SwaggerUIBundle({
    dom_id: '#reference',
    url: link.href,
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    supportedSubmitMethods: [],
    validatorUrl: null,
  })
}
