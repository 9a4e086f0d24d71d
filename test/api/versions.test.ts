import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '#gateway/server.ts'
import { contractOf } from '#openapi/contract.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { checkedAnswer } from '../env/api/check-response.ts'
import { type ComputeApi, computeApi } from '../env/compute-api.ts'

let api: ComputeApi
let ask: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>

beforeAll(async () => {
  api = await computeApi('versions')
  const app = createServer(api.gateway)
  ask = async (path, given = {}) => {
    const url = `http://cloud.test:8774${path}`
    const headers = new Headers({ host: 'cloud.test:8774', ...given })
    const response = await app.request(url, { headers })
    await checkedAnswer({ method: 'GET', url, headers, body: undefined }, response.clone())
    return response
  }
})
afterAll(() => api?.[Symbol.asyncDispose]())

const CURRENT = {
  id: 'v2.1',
  status: 'CURRENT',
  version: MAX,
  min_version: MIN,
  updated: '2013-07-23T11:33:21Z',
}
const SELF = { rel: 'self', href: 'http://cloud.test:8774/compute/v2.1/' }

describe('without a token', () => {
  test.each(['/compute', '/compute/'])('%s lists the versions', async (path) => {
    const response = await ask(path)

    expect(response.status).toBe(200)
    const body: unknown = await response.json()
    expect(body).toEqual({
      versions: [
        {
          id: 'v2.0',
          status: 'SUPPORTED',
          version: '',
          min_version: '',
          updated: '2011-01-21T11:33:21Z',
          links: [{ rel: 'self', href: 'http://cloud.test:8774/compute/v2/' }],
        },
        { ...CURRENT, links: [SELF] },
      ],
    })
    expect(problemsOf('listVersions', body)).toEqual([])
  })

  test('the old version that is listed is found where its link leads', async () => {
    const { versions } = (await (await ask('/compute')).json()) as { versions: readonly object[] }

    expect(await (await ask('/compute/v2/')).json()).toMatchObject({
      version: { ...versions[0], links: [{ rel: 'self' }, { rel: 'describedby' }] },
    })
  })

  test.each(['/compute/v2.1', '/compute/v2.1/'])('%s shows the range served', async (path) => {
    const response = await ask(path)

    expect(response.status).toBe(200)
    const body: unknown = await response.json()
    expect(body).toMatchObject({ version: { ...CURRENT, links: [SELF, { rel: 'describedby' }] } })
    expect(problemsOf('showVersion', body)).toEqual([])
  })
})

test('the links of the version can be followed', async () => {
  const { version } = (await (await ask('/compute/v2.1')).json()) as {
    readonly version: { readonly links: readonly { readonly rel: string; readonly href: string }[] }
  }
  const described = version.links.find(({ rel }) => rel === 'describedby')

  const response = await ask(new URL(described?.href ?? '').pathname)

  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toContain('text/html')
})

describe('a published document', () => {
  const document = async (query: string) => {
    const response = await ask(`/openapi/${query}`)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  test.each([
    ['compute.json', MAX],
    ['compute.json?microversion=latest', MAX],
    ['compute.json?microversion=2.1', '2.1'],
    // Nothing changed in between: one projection under two numbers.
    ['compute.json?microversion=2.34', '2.34'],
    ['compute.json?microversion=2.35', '2.35'],
    ['network.json?microversion=latest', expect.any(String)],
  ])('%s is of version %s', async (query, version) => {
    const { status, body } = await document(query)

    expect(status).toBe(200)
    expect(body).toMatchObject({ openapi: '3.1.0', info: { version } })
    expect(body['paths']).not.toEqual({})
  })

  test.each([
    ['compute.json?microversion=two', 400, { badRequest: { code: 400, message: /malformed/ } }],
    ['compute.json?microversion=2.999', 406, { computeFault: { code: 406, message: /ends at/ } }],
    ['identity.json?microversion=2.1', 406, { error: { code: 406, message: /no microversions/ } }],
    ['network.json?microversion=3', 400, { NeutronError: { message: /malformed/ } }],
  ])('%s is refused with %i', async (query, expected, envelope) => {
    const { status, body } = await document(query)

    expect(status).toBe(expected)
    const [[name, { message, ...rest }]] = Object.entries(envelope) as [
      [string, { message: RegExp }],
    ]
    expect(body).toMatchObject({ [name]: { message: expect.stringMatching(message), ...rest } })
  })
})

test('the reference page loads nothing from other hosts, behind any proxy path', async () => {
  const page = await ask('/docs')
  const html = await page.text()

  expect(page.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; script-src 'self';/,
  )
  expect(html).toContain('<base href="/docs/">')
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
  expect(links.filter((link) => /^(https?:)?\/\//.test(link))).toEqual([])
  for (const link of links.filter((each) => /\.(js|css)$/.test(each))) {
    const file = await ask(`/docs/${link}`)
    expect([link, file.status]).toEqual([link, 200])
    expect(file.headers.get('x-content-type-options')).toBe('nosniff')
  }
  expect((await ask('/docs/../package.json')).status).toBe(404)
  expect((await ask('/docs/%2e%2e/%2e%2e/package.json')).status).toBe(404)
})

test('discovery does not care for tokens that are not valid', async () => {
  expect((await ask('/compute/v2.1', { 'x-auth-token': 'nonsense' })).status).toBe(200)
})

function problemsOf(operationId: string, body: unknown): readonly string[] {
  return contractOf('compute').operation(operationId).validateResponse('2.1', 200, body)
}
