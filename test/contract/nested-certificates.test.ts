import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { verifyCloud } from '#drivers/nested/verify/verify-cloud.ts'
import { type Certificates, makeCertificates, type Pair } from '../real/certificates.ts'

describe('the check of a cloud reports', () => {
  let directory: string
  let certificates: Certificates
  const servers: { close(): unknown; closeAllConnections(): void }[] = []
  const portOf = async (server: Server) => {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }
  const serving = async ({ cert, key }: Pair) => {
    const pair = { cert: readFileSync(cert), key: readFileSync(key) }
    const server = createServer(pair, (_request, response) => void response.end('<html></html>'))
    servers.push(server)
    return portOf(server)
  }
  /** The state of the login, as the driver reports it. */
  const verify = async (where: string, more: Readonly<Record<string, string>> = {}) => {
    const settings = nestedSettings({
      auth_url: `https://${where}`,
      application_credential_id: 'id',
      application_credential_secret: 'secret',
      projects: 'any',
      networks: '127.0.0.0/8,::1/128',
      request_timeout_ms: '500',
      ...more,
    })
    const [{ result, detail } = { result: 'ok', detail: '' }, ...others] = await verifyCloud(
      settings,
      { cells: [], flavors: [], networks: [], outside: { networks: [], clouds: [] } },
    )
    expect([result, others]).toEqual(['failed', []])
    return detail
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'weir-certificates-'))
    certificates = await makeCertificates(directory)
  })
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    rmSync(directory, { recursive: true, force: true })
  })

  test('a certificate that is not trusted, and the reason', async () => {
    const ca_file = certificates.ca
    const port = await serving(certificates.server)
    const strangers = await serving(certificates.stranger)

    expect(await verify(`127.0.0.1:${port}`)).toContain('no trusted CA has signed it')
    expect(await verify(`127.0.0.1:${strangers}`, { ca_file })).toContain('no trusted CA')
    expect(await verify(`localhost:${port}`, { ca_file })).toContain('it is for another name')
    expect(await verify(`127.0.0.1:${port}`, { ca_file })).toContain('<html></html>')
  })

  test('an endpoint without TLS, without an answer, or without a server', async () => {
    const plain = createHttpServer()
    servers.push(plain)
    expect(await verify(`127.0.0.1:${await portOf(plain)}`)).toContain('there is no TLS')
    const silent = createTcpServer()
    const port = await portOf(silent)
    expect(await verify(`127.0.0.1:${port}`)).toMatch(/in time|broke/)
    silent.close()
    expect(await verify('127.0.0.1:1')).toContain('nothing listens there')
    expect(await verify('no-such-cloud.invalid')).toMatch(/no such name|looked up/)
  })
})
