import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer } from '#gateway/server.ts'
import { loadContract } from '#openapi/contract.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { type ComputeApi, computeApi } from '../env/compute-api.ts'

let api: ComputeApi
let ask: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>

beforeAll(async () => {
  api = await computeApi('versions')
  const app = createServer(api.gateway)
  ask = async (path, headers = {}) =>
    app.request(`http://cloud.test:8774${path}`, {
      headers: { host: 'cloud.test:8774', ...headers },
    })
})
afterAll(() => api[Symbol.asyncDispose]())

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
          status: 'DEPRECATED',
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

  test.each(['/compute/v2.1', '/compute/v2.1/'])('%s shows the range served', async (path) => {
    const response = await ask(path)

    expect(response.status).toBe(200)
    const body: unknown = await response.json()
    expect(body).toMatchObject({ version: { ...CURRENT, links: [SELF, { rel: 'describedby' }] } })
    expect(problemsOf('showVersion', body)).toEqual([])
  })
})

test('what describes the version is there', async () => {
  const { version } = (await (await ask('/compute/v2.1')).json()) as {
    readonly version: { readonly links: readonly { readonly rel: string; readonly href: string }[] }
  }
  const described = version.links.find(({ rel }) => rel === 'describedby')

  const response = await ask(new URL(described?.href ?? '').pathname)

  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ openapi: '3.1.0' })
})

test('discovery does not care for tokens that are not valid', async () => {
  expect((await ask('/compute/v2.1', { 'x-auth-token': 'nonsense' })).status).toBe(200)
})

function problemsOf(operationId: string, body: unknown): readonly string[] {
  return loadContract('compute').operation(operationId).validateResponse('2.1', 200, body)
}
