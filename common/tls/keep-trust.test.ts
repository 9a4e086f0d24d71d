import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { makeCertificate } from '#test/env/certificate.ts'
import { keepTrust } from './keep-trust.ts'

const log = createLogger('trust', 'silent')
const directory = mkdtempSync(join(tmpdir(), 'weir-trust-'))
const before = getCACertificates()

afterAll(() => {
  setDefaultCACertificates(before)
  rmSync(directory, { recursive: true })
})

function certificate(name: string) {
  const folder = join(directory, name)
  mkdirSync(folder)
  const { certificateFile, keyFile } = makeCertificate(folder)
  return { cert: readFileSync(certificateFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
}

test('a server whose certificate is added to the file is trusted, and those before it still are', async () => {
  const [former, next] = [certificate('former'), certificate('next')]
  const file = join(directory, 'ca.crt')
  await using owned = new AsyncDisposableStack()
  const portOf = async (tls: { readonly cert: string; readonly key: string }) => {
    const server = createServer(tls)
    owned.defer(() => void server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const ports = [await portOf(former), await portOf(next)]
  const trusted = () =>
    Promise.all(
      ports.map(async (port) => {
        const socket = connect({ port, host: '127.0.0.1' })
        const outcome = once(socket, 'secureConnect').then(
          () => true,
          () => false,
        )
        return outcome.finally(() => socket.destroy())
      }),
    )
  // As Node does at the start of a process.
  writeFileSync(file, former.cert)
  setDefaultCACertificates([...before, former.cert])
  const keeping = owned.use(keepTrust({ NODE_EXTRA_CA_CERTS: file }, systemClock, log)!)
  expect(await trusted()).toEqual([true, false])

  writeFileSync(file, former.cert + next.cert)
  keeping.wake()

  await expect.poll(trusted).toEqual([true, true])
})

test('without the setting there is nothing to keep', () => {
  expect(keepTrust({}, systemClock, log)).toBeUndefined()
})
