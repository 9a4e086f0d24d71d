import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../run.ts'
import { IronicClient } from './client.ts'
import { ironicSettings } from './settings.ts'

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
const CN = ['-subj', '/CN=ironic', '-addext', 'subjectAltName=IP:127.0.0.1']

let folder: Awaited<ReturnType<typeof mkdtempDisposable>>
let server: Server
let caFile: string
const signal = () => AbortSignal.timeout(10_000)

beforeAll(async () => {
  folder = await mkdtempDisposable(join(tmpdir(), 'weir-ironic-tls-'))
  caFile = join(folder.path, 'cert.pem')
  const keyFile = join(folder.path, 'key.pem')
  const out = ['-out', caFile, '-keyout', keyFile]
  await run('openssl', ['req', '-x509', ...KEY, ...CN, ...out], { timeoutMs: 20_000 })
  const [cert, key] = await Promise.all([readFile(caFile), readFile(keyFile)])
  server = createServer({ cert, key }, (request, response) => {
    const isLogin = request.url === '/v3/auth/tokens'
    const times = { issued_at: '2026-01-01T00:00:00Z', expires_at: '2026-01-01T01:00:00Z' }
    response.writeHead(isLogin ? 201 : 200, { 'x-subject-token': 'token' })
    response.end(JSON.stringify(isLogin ? { token: times } : { nodes: [] }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await folder[Symbol.asyncDispose]()
})

function client(more: Readonly<Record<string, string>>): IronicClient {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const login = { application_credential_id: 'id', application_credential_secret: 'secret' }
  const image_url = 'http://images.invalid'
  return new IronicClient(ironicSettings({ url, auth_url: url, image_url, ...login, ...more }))
}

test('an ironic and its Keystone are believed by the certificate that is named, and by no other', async () => {
  await using believing = client({ ca_file: caFile })
  expect(await believing.nodes(signal())).toEqual([])

  await using doubting = client({})
  await expect(doubting.nodes(signal())).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'The Keystone of ironic does not answer.',
    cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
  })
})

test('a missing certificate is reported at once', () => {
  expect(() => client({ ca_file: '/nowhere.pem' })).toThrow(/ca_file: ENOENT/)
})
