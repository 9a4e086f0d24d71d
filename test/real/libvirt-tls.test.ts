import { appendFile, cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorChain } from '#common/errors.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '../env/full-run.ts'
import { type Certificates, makeCertificates, type Pair } from './certificates.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { relayInto } from './relay-into.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'genisoimage', 'openssl']
const TLS_PORT = 16_514
const COMMAND_MS = 20_000
const why = isFullRun ? whyNoGuests(COMMANDS) : 'only with --all'

describe.skipIf(why !== undefined)(
  `a libvirt daemon that is reached by TLS${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let folder: string
    let certificates: Certificates
    let harness: LibvirtHarness
    let relay: Awaited<ReturnType<typeof relayInto>>
    const signal = () => AbortSignal.timeout(60_000)

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-lt-'))
      certificates = await makeCertificates(folder)
      harness = await startLibvirtHarness('secure')
      await listen(harness, certificates)
      relay = await relayInto(harness.host, TLS_PORT, join(folder, 'relay.sock'))
    }, 120_000)
    afterAll(async () => {
      await relay?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    })

    /** A driver whose host has these certificates. */
    const openWith = async (name: string, ca: string, pair?: Pair) => {
      const pki = join(folder, name)
      await mkdir(pki)
      await cp(ca, join(pki, 'cacert.pem'))
      if (pair !== undefined) await cp(pair.cert, join(pki, 'clientcert.pem'))
      if (pair !== undefined) await cp(pair.key, join(pki, 'clientkey.pem'))
      const uri = `qemu+tls://127.0.0.1:${relay.port}/system?pkipath=${pki}`
      return harness.openAs(harness.owner, { uri })
    }

    test('is asked, makes a guest, and opens its console', async () => {
      await using driver = await openWith('good', certificates.ca, certificates.client)
      const spec = instanceSpec(harness.image)

      expect((await driver.inventory(signal())).hypervisor.hostname).toBe('secure')
      await driver.spawn(spec, signal())
      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      const console = await driver.console!.open(spec.id, 'serial', signal())
      console.destroy()
      await harness.host.run('pkill', ['-KILL', '-f', `guest=weir-${spec.id}`], {
        timeoutMs: COMMAND_MS,
      })
      const off = [{ id: spec.id, powerState: 'shutdown' }]
      await expect.poll(() => driver.list(signal())).toMatchObject(off)

      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    }, 120_000)

    test('is unreachable, with the reason, where either side does not trust the other’s certificate', async () => {
      const { ca, client, stranger } = certificates
      for (const [name, authority, pair, reason] of [
        ['wrong-ca', stranger.cert, client, /certificate/],
        ['stranger', ca, stranger, /refuses the certificate .*clientcert\.pem|certificate/],
        ['none', ca, undefined, /ENOENT.*client(cert|key)\.pem/],
      ] as const) {
        await using driver = await openWith(name, authority, pair)
        const asked = await driver.inventory(signal()).catch((error: unknown) => error)
        expect(asked).toMatchObject({ kind: 'unavailable' })
        expect(errorChain(asked), name).toMatch(reason)
      }
    })
  },
)

/** Afterwards the daemon listens for who has a certificate of the authority. */
async function listen({ host }: LibvirtHarness, { ca, server }: Certificates): Promise<void> {
  const settings = { ca_file: ca, cert_file: server.cert, key_file: server.key }
  const lines = Object.entries(settings).map(([name, path]) => `${name} = "${path}"\n`)
  const config = join(host.socketPath, '../../etc/libvirtd.conf')
  await appendFile(config, `listen_tls = 1\n${lines.join('')}`)
  await host.stopDaemon()
  const pidFile = '/run/libvirt/libvirtd.pid'
  const options = { timeoutMs: COMMAND_MS }
  await host.run('libvirtd', ['--daemon', '--listen', '--pid-file', pidFile], options)
}
