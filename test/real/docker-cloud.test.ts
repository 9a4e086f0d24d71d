import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningDockerEngine, startDockerEngine } from '#deploy/docker-engine/docker-engine.ts'
import { Checkout } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'
import { machineNetwork } from './machine-network.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['dockerd', 'containerd', 'runc', 'iptables', 'openstack', 'curl']
const COMMAND_MS = 120_000
const STATE_MS = 30_000
const why = isFullRun ? whyNoGuests(COMMANDS) : 'one path per backend: the driver’s own'

describe.skipIf(why !== undefined)(
  `a cloud of Docker engines${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let checkout: Checkout
    let before: Awaited<ReturnType<typeof machineNetwork>>
    let engine: RunningDockerEngine

    beforeAll(async () => {
      before = await machineNetwork()
      checkout = new Checkout()
      await checkout.succeed('up', '--driver', 'docker', '--network', 'host', '--cells', '1')
      engine = await startDockerEngine(join(checkout.home, 'hosts', 'north-1', 'docker'))
    }, 300_000)
    afterAll(() => checkout?.[Symbol.asyncDispose](), 60_000)

    const openstack = async (...args: readonly string[]) => {
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: checkout.home,
        OS_CLIENT_CONFIG_FILE: checkout.cloudsFile,
        OS_CLOUD: 'weir',
      }
      return (await promisify(execFile)('openstack', args, { env, timeout: COMMAND_MS })).stdout
    }
    const find = async (name: string) =>
      (await checkout.servers()).find((server) => server.name === name)
    const untilStatus = (name: string, status: string) =>
      expect.poll(async () => (await find(name))?.status, { timeout: STATE_MS }).toBe(status)
    const consoleOf = (name: string) => openstack('console', 'log', 'show', name)
    const pageOf = async (name: string) => {
      const address = (await find(name))?.addresses['private']?.[0]?.addr
      const args = ['-s', '--max-time', '2', `http://${address}/`]
      return (await engine.run('curl', args, { timeoutMs: 5_000 })).stdout.trim()
    }

    test('its first server is ACTIVE and answers on its address', async () => {
      expect((await find('first'))?.status).toBe('ACTIVE')
      await expect.poll(() => pageOf('first').catch(String), { timeout: STATE_MS }).toBe('first')
    })

    test('a server gets its metadata, and lives through everything until it is deleted', async () => {
      const userData = join(checkout.home, 'user-data')
      writeFileSync(userData, 'as the user said')
      const extras = ['--user-data', userData, '--config-drive', 'true']
      const what = ['--image', 'tiny', '--flavor', 'm1.tiny', '--network', 'private']
      await openstack('server', 'create', ...what, ...extras, '--wait', 'second')
      const { id } = (await find('second'))!

      await expect.poll(() => consoleOf('second'), { timeout: STATE_MS }).toContain('READY')
      const log = await consoleOf('second')
      expect(log).toContain(`uuid=${id} hostname=second`)
      expect(log).toContain('user data: as the user said')

      await openstack('server', 'stop', 'second')
      await untilStatus('second', 'SHUTOFF')
      expect(await consoleOf('second')).toContain('asked to shut down')
      await openstack('server', 'start', 'second')
      await untilStatus('second', 'ACTIVE')
      await openstack('server', 'pause', 'second')
      await untilStatus('second', 'PAUSED')
      await openstack('server', 'unpause', 'second')
      await untilStatus('second', 'ACTIVE')
      await openstack('server', 'reboot', '--wait', 'second')
      await expect.poll(() => pageOf('second').catch(String), { timeout: STATE_MS }).toBe('second')

      await openstack('server', 'delete', '--wait', 'second')
      expect(await find('second')).toBeUndefined()
    })

    test('a server that relies on a security group is built on no engine, and a server on an engine gets no group', async () => {
      const what = ['--image', 'tiny', '--flavor', 'm1.tiny', '--network', 'private']
      await openstack('security', 'group', 'create', 'web')
      await openstack('server', 'create', ...what, '--security-group', 'web', 'third')
      await untilStatus('third', 'ERROR')
      const shown = await openstack('server', 'show', 'third', '-f', 'json')
      expect(shown).toContain('SecurityGroupFilter removed the last host')
      const adding = openstack('server', 'add', 'security', 'group', 'first', 'web')
      await expect(adding).rejects.toThrow('have no effect on the host')
      await openstack('server', 'delete', '--wait', 'third')
    })

    test('servers run again after their engine went away and came back', async () => {
      await engine.shutDown()
      await engine.start()

      await expect
        .poll(() => pageOf('first').catch(String), { timeout: 2 * STATE_MS })
        .toBe('first')
    })

    test("the machine's own network is unchanged", async () => {
      expect(await machineNetwork()).toEqual(before)
    })
  },
)
