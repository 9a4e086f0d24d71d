import type { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '#gateway/server.ts'
import { type ApiClient, type ComputeApi, computeApi } from '../env/compute-api.ts'

let api: ComputeApi
let app: Hono
let member: ApiClient

beforeAll(async () => {
  api = await computeApi('as_nova')
  app = createServer(api.gateway, ['compute'])
  member = await api.user('ann', 'a', 'member')
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface Asked {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

async function ask(method: string, path: string, { headers = {}, body }: Asked = {}) {
  const url = `http://cloud.test:8774/compute${path}`
  const sent = { host: 'cloud.test:8774', ...headers }
  const content = body === undefined ? {} : { body }
  return app.request(url, { method, headers: sent, ...content })
}

async function askAsMember(method: string, path: string, { headers = {}, body }: Asked = {}) {
  const token = { 'x-auth-token': member.token }
  const answered = body === undefined ? { headers } : { headers, body }
  return ask(method, path, { ...answered, headers: { ...token, ...headers } })
}

const JSON_TYPE = { 'content-type': 'application/json' }
const SERVER = '01234567-89ab-cdef-0123-456789abcdef'

describe('where the document has no operation', () => {
  test.each(['/v3', '/v2.2/', '/v1/', '/nothing', '/v3/servers'])(
    '%s offers the versions',
    async (path) => {
      const response = await ask('GET', path)
      const href = (version: string) =>
        `http://cloud.test:8774/compute/${version}${path.replace(/\/$/, '')}`

      expect(response.status).toBe(300)
      expect(await response.json()).toMatchObject({
        choices: [
          { id: 'v2.0', status: 'SUPPORTED', links: [{ rel: 'self', href: href('v2') }] },
          { id: 'v2.1', status: 'CURRENT', links: [{ rel: 'self', href: href('v2.1') }] },
        ],
      })
    },
  )

  test.each([
    ['GET', '/v2.1/nonsense'],
    ['GET', '/v2.1/servers/'],
    ['GET', '/v2.1/servers//'],
    ['GET', '/v2.1/servers/detail/'],
    ['GET', '/v2.1/flavors/'],
    ['DELETE', '/v2.1/servers'],
    ['HEAD', '/v2.1/servers'],
    ['HEAD', `/v2.1/servers/${SERVER}`],
    ['HEAD', '/v2.1/limits'],
  ])('%s %s is a plain 404 with a token, and 401 without', async (method, path) => {
    const known = await askAsMember(method, path)
    const stranger = await ask(method, path)

    expect([known.status, stranger.status]).toEqual([404, 401])
    expect(stranger.headers.get('www-authenticate')).toMatch(/^Keystone uri="/)
    expect(known.headers.get('openstack-api-version')).toBeNull()
    expect(known.headers.get('x-compute-request-id')).toMatch(/^req-/)
    if (method === 'HEAD') return
    expect(await known.json()).toEqual({
      message: expect.stringContaining('nothing at this path') as string,
      code: '404 Not Found',
      title: 'Not Found',
    })
  })

  test('a browser gets that 404 as a page', async () => {
    const response = await askAsMember('GET', '/v2.1/nonsense', {
      headers: { accept: 'text/html' },
    })

    expect(response.headers.get('content-type')).toContain('text/html')
    expect(await response.text()).toContain('404 Not Found')
  })

  test.each(['/v2.1/servers', `/v2.1/servers/${SERVER}`])(
    'OPTIONS %s is answered',
    async (path) => {
      const response = await ask('OPTIONS', path)

      expect([response.status, await response.text()]).toEqual([200, ''])
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    },
  )
})

describe('the documents of versions', () => {
  test.each([
    ['POST', '/', 'versions'],
    ['DELETE', '/', 'versions'],
    ['OPTIONS', '/', 'versions'],
    ['POST', '/v2.1/', 'version'],
    ['PUT', '/v2.1/', 'version'],
    ['DELETE', '/v2.1', 'version'],
    ['PUT', '/v2/', 'version'],
  ])('are there for %s %s', async (method, path, key) => {
    const response = await ask(method, path, method === 'POST' ? { body: '{}' } : {})

    expect(response.status).toBe(200)
    expect(await response.json()).toHaveProperty(key)
  })

  test.each([
    ['/v2/', 'v2.0', 'SUPPORTED', '2'],
    ['/v2.1/', 'v2.1', 'CURRENT', '2.1'],
  ])('%s has two links and a media type', async (path, id, status, media) => {
    const { version } = (await (await ask('GET', path)).json()) as { version: object }

    expect(version).toMatchObject({
      id,
      status,
      links: [
        { rel: 'self', href: `http://cloud.test:8774/compute${path}` },
        { rel: 'describedby', type: 'text/html' },
      ],
      'media-types': [
        {
          base: 'application/json',
          type: `application/vnd.openstack.compute+json;version=${media}`,
        },
      ],
    })
  })
})

describe('the microversion', () => {
  const VERSION = 'openstack-api-version'
  const NOVA_VERSION = 'x-openstack-nova-api-version'

  test.each([
    ['an operation', 'GET', '/v2.1/servers', 200],
    ['a missing server', 'GET', `/v2.1/servers/${SERVER}`, 404],
    ['a malformed body', 'POST', '/v2.1/servers', 400],
    ['a forbidden operation', 'GET', '/v2.1/os-hypervisors', 403],
    ['an operation that the version lacks', 'GET', '/v2.1/os-hosts', 404],
  ])('is named in the answer to %s', async (_name, method, path, status) => {
    const headers = { [VERSION]: 'compute 2.90', ...JSON_TYPE }
    const body = method === 'POST' ? { body: '{' } : {}
    const response = await askAsMember(method, path, { headers, ...body })

    expect(response.status).toBe(status)
    expect(response.headers.get(VERSION)).toBe('compute 2.90')
    expect(response.headers.get(NOVA_VERSION)).toBe('2.90')
  })

  test('is not named in the list of versions, which does not look for one', async () => {
    const response = await ask('GET', '/', { headers: { [VERSION]: 'compute 2.999' } })

    expect([response.status, response.headers.get(VERSION)]).toEqual([200, null])
  })

  test('an empty header has no effect', async () => {
    const headers = { [VERSION]: '', [NOVA_VERSION]: '' }
    const response = await askAsMember('GET', '/v2.1/servers', { headers })

    expect([response.status, response.headers.get(VERSION)]).toEqual([200, 'compute 2.1'])
  })
})

describe('the endpoint from before microversions', () => {
  test('serves 2.1 for every requested version, and names no version', async () => {
    const headers = { 'openstack-api-version': 'compute 2.79' }
    const response = await askAsMember('GET', '/v2/servers', { headers })

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ servers: [] })
    for (const name of ['openstack-api-version', 'x-openstack-nova-api-version', 'vary'])
      expect(response.headers.get(name)).toBeNull()
  })

  test('drops the keys it does not know, which 2.1 refuses', async () => {
    const body = JSON.stringify({ keypair: { name: 'old', colour: 'red' }, more: 1 })
    const create = (version: string) =>
      askAsMember('POST', `/${version}/os-keypairs`, { headers: JSON_TYPE, body })

    expect((await create('v2.1')).status).toBe(400)
    expect((await create('v2')).status).toBe(200)
  })

  test('leads to itself', async () => {
    const { projectId } = member
    const response = await askAsMember('GET', `/v2/${projectId}/flavors?limit=1`)

    expect(response.status).toBe(200)
    expect(JSON.stringify(await response.json())).not.toContain('/v2.1/')
  })
})

describe('a request', () => {
  test('without a token is refused as by keystonemiddleware', async () => {
    const response = await ask('GET', '/v2.1/servers')

    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({
      error: { message: expect.any(String) as string, code: 401, title: 'Unauthorized' },
    })
  })

  test('with the token of a service that is not valid is refused', async () => {
    const headers = { 'x-service-token': 'nonsense' }
    const valid = { 'x-service-token': member.token }

    expect((await askAsMember('GET', '/v2.1/servers', { headers })).status).toBe(401)
    expect((await askAsMember('GET', '/v2.1/servers', { headers: valid })).status).toBe(200)
  })

  test.each([
    ['as text/plain', 'text/plain', '{"server":{}}', 400],
    ['as XML', 'application/xml', '<server/>', 415],
    ['of 400 kB', 'application/json', `"${'x'.repeat(400_000)}"`, 413],
  ])('with a body %s answers as Nova', async (_name, type, body, status) => {
    const headers = { 'content-type': type }

    expect((await askAsMember('POST', '/v2.1/servers', { headers, body })).status).toBe(status)
  })

  test.each(['2.1', '2.2'])('at %s, an answer without a body has a type', async (version) => {
    await askAsMember('POST', '/v2.1/os-keypairs', {
      headers: JSON_TYPE,
      body: JSON.stringify({ keypair: { name: 'gone' } }),
    })
    const headers = { 'openstack-api-version': `compute ${version}` }
    const response = await askAsMember('DELETE', '/v2.1/os-keypairs/gone', { headers })

    expect(response.status).toBe(version === '2.1' ? 202 : 204)
    expect(await response.text()).toBe('')
    expect(response.headers.get('content-type')).toBe('application/json')
  })
})

describe('a request for a missing object or path', () => {
  const NO_SUCH = `/v2.1/servers/${SERVER}/action`

  test.each([
    ['an action that is null', 'POST', NO_SUCH, 'null', 404],
    ['an action that is a text', 'POST', NO_SUCH, '"x"', 404],
    ['an unknown action', 'POST', NO_SUCH, '{"x":null}', 400],
    ['an empty filter by tags', 'GET', '/v2.1/servers?tags=', undefined, 400],
    ['an empty filter by config drive', 'GET', '/v2.1/servers?config_drive=', undefined, 400],
    ['an empty marker', 'GET', '/v2.1/servers?marker=', undefined, 200],
    ['keypairs of an empty user', 'GET', '/v2.1/os-keypairs?user_id=', undefined, 200],
    ['a tag with a body', 'PUT', `/v2.1/servers/${SERVER}/tags/x`, '{}', 400],
    [
      'a rule of no group',
      'POST',
      '/v2.1/os-security-group-rules',
      '{"security_group_rule":{"parent_group_id":"x"}}',
      400,
    ],
  ])('%s is answered as Nova answers', async (_name, method, path, body, status) => {
    const version = path.includes('rules') ? '2.1' : '2.26'
    const headers = { ...JSON_TYPE, 'openstack-api-version': `compute ${version}` }
    const content = body === undefined ? {} : { body }

    expect((await askAsMember(method, path, { headers, ...content })).status).toBe(status)
  })

  test.each(['GET', 'DELETE'])('%s of an aggregate with a negative id is 404', async (method) => {
    const root = await api.user('root', 'r', 'admin')
    const headers = { 'x-auth-token': root.token }

    expect((await ask(method, '/v2.1/os-aggregates/-1', { headers })).status).toBe(404)
  })
})

test('a link to the next page has each parameter once', async () => {
  for (const name of ['one', 'two'])
    await askAsMember('POST', '/v2.1/os-keypairs', {
      headers: JSON_TYPE,
      body: JSON.stringify({ keypair: { name } }),
    })
  const headers = { 'openstack-api-version': 'compute 2.35' }
  const response = await askAsMember('GET', '/v2.1/os-keypairs?limit=2&limit=1', { headers })
  const { keypairs_links: links } = (await response.json()) as {
    readonly keypairs_links: readonly { readonly href: string }[]
  }
  const { searchParams } = new URL(links[0]?.href ?? '')

  expect(searchParams.getAll('limit')).toEqual(['1'])
  expect(searchParams.getAll('marker')).toHaveLength(1)
})
