import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CloudConfig } from './cloud-config.ts'
import { transportTo } from './transport.ts'

const server = createServer()
let directory: string
let url: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'transport-'))
  const key = join(directory, 'key.pem')
  const certificate = join(directory, 'certificate.pem')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-days', '1']
  const files = ['-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', '-x509', '-nodes', ...made, ...subject, ...files], {
    stdio: 'ignore',
  })
  server.setSecureContext({ key: await readFile(key), cert: await readFile(certificate) })
  server.on('request', (_request, response) => response.end('heard'))
  await new Promise<void>((resolve) => {
    server.listen(0, 'localhost', resolve)
  })
  url = `https://localhost:${(server.address() as AddressInfo).port}/`
})

afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await rm(directory, { recursive: true })
})

async function receive(change: Partial<CloudConfig>): Promise<string> {
  const cloud = { caFile: undefined, isInsecure: false, ...change } as CloudConfig
  const send = await transportTo(cloud)
  return (await send(url, { method: 'GET', headers: {} })).text()
}

test('a certificate is believed when it is named, or when any is', async () => {
  expect(await receive({ caFile: join(directory, 'certificate.pem') })).toBe('heard')
  expect(await receive({ isInsecure: true })).toBe('heard')
})

test('any other is not, and the reason is shown', async () => {
  await expect(receive({})).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/self-signed certificate.*name its CA bundle: --os-cacert FILE/),
  })
  await expect(receive({ caFile: join(directory, 'none.pem') })).rejects.toMatchObject({
    kind: 'invalid',
  })
})
