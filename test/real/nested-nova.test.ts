import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { layoutIn } from '#deploy/deployment/layout.ts'
import { writeLogin } from '#deploy/nested/cloud-login.ts'
import { isFullRun } from '../env/full-run.ts'
import { NovaCell } from './nova-cell.ts'
import { openstackAccount } from './openstack-account.ts'
import type { OpenstackLogin } from './openstack-user.ts'

const TEST_MS = 600_000
const POLL = { timeout: 120_000, interval: 200 }
const SERVERS = '/compute/v2.1/servers'
/** How often it is measured how soon something is seen. */
const TRIES = 10
type Made<What extends string> = Readonly<Record<What, { readonly id: string }>>
type Listed<What extends string> = Readonly<Record<What, readonly Record<string, unknown>[]>>

const account = isFullRun ? openstackAccount('WEIR_TEST_OPENSTACK_ADMIN') : undefined
const why = account === undefined ? ' (skipped: WEIR_TEST_OPENSTACK_ADMIN names no OpenStack)' : ''

interface ShownHost {
  readonly is_up: boolean
  readonly down_reason: string | null
}

/** In this order: each test goes on with the cell that the ones before have left. */
describe.skipIf(account === undefined)(`a cell that is a project of a real Nova${why}`, () => {
  let nova: NovaCell
  const status = async (id: string) => (await nova.top(id))?.status ?? 'GONE'
  const untilStatus = (id: string, wanted: string) =>
    expect.poll(() => status(id), POLL).toBe(wanted)
  const remove = async (id: string) => {
    await nova.call('DELETE', `${SERVERS}/${id}`)
    await untilStatus(id, 'GONE')
  }

  beforeAll(async () => {
    nova = await NovaCell.start(account!)
  }, TEST_MS)
  afterAll(async () => nova?.[Symbol.asyncDispose](), TEST_MS)

  test.each([
    ['flavor:m1.huge=m1.nano', 'There is no flavor m1.huge here to map. There are: m1.tiny,'],
    ['flavor:m1.small=m1.huge', 'The nested cloud has no flavor m1.huge. It has: '],
    ['image:suse=tiny', 'There is no image suse here to map. There are: tiny.'],
    ['image:tiny=suse', 'The nested cloud has no image suse. It has: '],
    ['network:lan=private', 'There is no network lan here to map. There are: private.'],
    ['network:private=lan', 'The nested cloud has no network lan. It has: '],
  ])(
    'is not made with --map %s',
    async (map, message) => {
      const { code, stdout, stderr } = await nova.cell(
        ['join', 'lab', '--driver', 'nested'],
        ...['--map', map],
      )
      expect(code).not.toBe(0)
      expect(stdout + stderr).toContain(message)
      expect(await nova.checkout.succeed('cell', 'list', '-o', 'name')).not.toContain('lab')
    },
    TEST_MS,
  )

  test(
    'is not made with a mapped network whose subnets are others, which it names',
    async () => {
      const { network } = await nova.lab.ask<Made<'network'>>('network', 'POST', '/networks', {
        body: { network: { name: 'elsewhere' } },
      })
      const subnet = { network_id: network.id, ip_version: 4, cidr: '10.0.0.0/8' }
      await nova.lab.ask('network', 'POST', '/subnets', { body: { subnet } })
      const { code, stdout } = await nova.cell(
        ['join', 'lab', '--driver', 'nested'],
        ...['--map', 'network:private=elsewhere'],
      )
      expect(code).not.toBe(0)
      expect(stdout).toMatch(
        /failed +networks .*which network elsewhere there lacks; it has 10\.0\.0\.0\/8, which overlaps it/,
      )
      await nova.lab.ask('network', 'DELETE', `/networks/${network.id}`)
    },
    TEST_MS,
  )

  test(
    'is made with flavors and images mapped by name',
    async () => {
      const nowhere = await nova.flavorOfNoHost()
      const pairs = ['flavor:m1.small=m1.nano', `flavor:m1.medium=${nowhere}`, 'image:tiny=tiny']
      const maps = pairs.flatMap((pair) => ['--map', pair])
      const joined = await nova.cell(['join', 'lab', '--driver', 'nested'], ...maps)
      expect(joined).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('m1.small is m1.nano'),
      })
      expect(await nova.checkout.succeed('cell', 'verify', 'lab', '--boot')).toMatch(/ok +delete/)
    },
    TEST_MS,
  )

  test(
    'shows a delete within two seconds, whether Weir or the nested cloud made it',
    async ({ annotate }) => {
      const seconds: Record<'here' | 'there' | 'after', string[]> = {
        here: [],
        there: [],
        after: [],
      }
      for (let each = 0; each < TRIES; each += 1) {
        const id = await nova.boot(`deleted-${each}`, 'm1.small')
        await untilStatus(id, 'ACTIVE')
        const { id: below } = (await nova.below(id))!
        await nova.lab.ask('compute', 'DELETE', `/servers/${below}`)
        await expect.poll(async () => nova.below(id), POLL).toBeUndefined()
        const goneMs = performance.now()
        await untilStatus(id, 'ERROR')
        seconds.there.push(secondsSince(goneMs))
        expect((await nova.top(id, 'weir-admin'))?.fault).toMatchObject({
          details: expect.stringContaining('The nested cloud has no such server any more'),
        })
        const second = await nova.boot(`second-${each}`, 'm1.small')
        await untilStatus(second, 'ACTIVE')
        const askedMs = performance.now()
        await nova.call('DELETE', `${SERVERS}/${second}`)
        await expect.poll(async () => nova.below(second), POLL).toBeUndefined()
        const secondGoneMs = performance.now()
        await untilStatus(second, 'GONE')
        seconds.after.push(secondsSince(secondGoneMs))
        seconds.here.push(secondsSince(askedMs))
        await remove(id)
      }
      await annotate(`s from gone there to ERROR here: ${seconds.there.join(' ')}`)
      await annotate(`s from a delete here to gone: ${seconds.here.join(' ')}`)
      await annotate(`s of these after it was gone there: ${seconds.after.join(' ')}`)
    },
    TEST_MS,
  )

  test(
    'has the status of Weir, and keeps it',
    async () => {
      const { network } = await nova.call<Made<'network'>>('POST', '/networking/v2.0/networks', {
        body: { network: { name: 'routed', mtu: 1400 } },
      })
      const host_routes = [{ destination: '192.0.2.0/24', nexthop: '10.77.0.9' }]
      const made = { network_id: network.id, ip_version: 4, cidr: '10.77.0.0/24', host_routes }
      await nova.call('POST', '/networking/v2.0/subnets', { body: { subnet: made } })
      const networks = [{ uuid: network.id }]
      const id = await nova.boot('before', 'm1.small', { networks, 'OS-DCF:diskConfig': 'AUTO' })
      await untilStatus(id, 'ACTIVE')
      const interfaceAttachment = { net_id: network.id, tag: 'back' }
      await nova.call('POST', `${SERVERS}/${id}/os-interface`, { body: { interfaceAttachment } })
      const below = async () => (await nova.below(id))!
      expect(await below()).toMatchObject({ name: 'before', 'OS-DCF:diskConfig': 'AUTO' })
      expect((await below()).description ?? null).toBeNull()

      const { networks: there } = await nova.lab.ask<Listed<'networks'>>(
        'network',
        'GET',
        '/networks',
      )
      expect(there.find(({ name }) => name === `weir-${network.id}`)).toMatchObject({ mtu: 1400 })
      const { subnets } = await nova.lab.ask<Listed<'subnets'>>('network', 'GET', '/subnets')
      expect(subnets.find(({ cidr }) => cidr === made.cidr)).toMatchObject({ host_routes })
      const tags = async () => {
        const path = `/servers/${(await below()).id}/os-interface`
        const { interfaceAttachments } = await nova.lab.ask<Listed<'interfaceAttachments'>>(
          'compute',
          'GET',
          path,
        )
        return interfaceAttachments.map(({ tag }) => tag)
      }
      await expect.poll(tags, POLL).toEqual(expect.arrayContaining(['back']))

      const server = { name: 'after', description: 'said later', hostname: 'later-host' }
      const addresses = { accessIPv4: '198.51.100.1', accessIPv6: '2001:db8::1' }
      await nova.call('PUT', `${SERVERS}/${id}`, { body: { server: { ...server, ...addresses } } })
      const metadata = { of: 'mine' }
      await nova.call('PUT', `${SERVERS}/${id}/metadata`, { body: { metadata } })
      await nova.call('PUT', `${SERVERS}/${id}/tags`, { body: { tags: ['n1', 'n2'] } })
      const { name, description } = server
      await expect.poll(below, POLL).toMatchObject({
        ...{ name, description, ...addresses, metadata: expect.objectContaining(metadata) },
        ...{ 'OS-EXT-SRV-ATTR:hostname': server.hostname, tags: ['n1', 'n2'] },
      })
      await remove(id)
    },
    TEST_MS,
  )

  test(
    'is in ERROR while it is in ERROR in the nested cloud, with the reason',
    async () => {
      const id = await nova.boot('broken', 'm1.small')
      await untilStatus(id, 'ACTIVE')
      const path = `/servers/${(await nova.below(id))!.id}/action`
      const reset = (state: string) =>
        nova.admin.ask('compute', 'POST', path, { body: { 'os-resetState': { state } } })
      await reset('error')
      await untilStatus(id, 'ERROR')
      expect((await nova.top(id, 'weir-admin'))?.fault?.details).toContain('in error')
      await reset('active')
      await untilStatus(id, 'ACTIVE')

      const ask = nova.call('POST', `${SERVERS}/${id}/remote-consoles`, {
        body: { remote_console: { protocol: 'spice', type: 'spice-html5' } },
      })
      await expect(ask).rejects.toThrow('Unavailable console type spice-html5.')
      for (const [protocol, type] of [
        ['vnc', 'novnc'],
        ['serial', 'serial'],
      ]) {
        const body = { remote_console: { protocol, type } }
        const message = (error: Error) => /Unavailable console type/.exec(error.message)?.[0]
        const there = await nova.lab
          .ask('compute', 'POST', path.replace('/action', '/remote-consoles'), { body })
          .then(() => 'a URL', message)
        const here = await nova
          .call('POST', `${SERVERS}/${id}/remote-consoles`, { body })
          .then(() => 'a URL', message)
        expect(here).toBe(there)
      }
      await remove(id)
    },
    TEST_MS,
  )

  test(
    'takes no more than the quota there, and tells the reasons of the cloud',
    async () => {
      const limit = (quota_set: object) =>
        nova.admin.ask('compute', 'PUT', `/os-quota-sets/${nova.lab.projectId}`, {
          body: { quota_set: { ...quota_set, force: true } },
        })
      const nowhere = await nova.boot('nowhere', 'm1.medium')
      await untilStatus(nowhere, 'ERROR')
      const no = expect.stringContaining('no room for the server. (No valid host was found')
      expect(await reasons(nowhere)).toEqual({ trace: no, action: no, fault: no })
      await remove(nowhere)
      const first = await nova.boot('fits', 'm1.small')
      await untilStatus(first, 'ACTIVE')
      await limit({ instances: 1 })
      const refused = await nova.boot('refused', 'm1.small')
      await untilStatus(refused, 'ERROR')
      const message = expect.stringMatching(/Quota exceeded for instances|BackendInstancesFilter/)
      expect(await reasons(refused)).toEqual({ trace: message, action: message, fault: message })
      await expect.poll(() => nova.takes('m1.small'), POLL).toBe(false)
      const made = async () => {
        const { servers } = await nova.admin.ask<Listed<'servers'>>(
          'compute',
          'GET',
          `/servers/detail?all_tenants=1&deleted=true&project_id=${nova.lab.projectId}`,
        )
        return servers.length
      }
      const before = await made()
      const never = await nova.boot('never-sent', 'm1.small')
      await untilStatus(never, 'ERROR')
      expect((await reasons(never)).trace).toContain('BackendInstancesFilter')
      expect(await made()).toBe(before)

      await limit({ instances: 10 })
      await expect.poll(() => nova.takes('m1.small'), POLL).toBe(true)
      for (const id of [refused, never, first]) await remove(id)
    },
    TEST_MS,
  )

  /** What an administrator is told of why a server is as it is. */
  async function reasons(id: string) {
    const { stdout: trace } = await nova.checkout.weir('why', id)
    const path = `${SERVERS}/${id}/os-instance-actions`
    const who = 'weir-admin'
    type Actions = { instanceActions: readonly { request_id: string }[] }
    const { instanceActions } = await nova.call<Actions>('GET', path, { who })
    const own = `${path}/${instanceActions[0]!.request_id}`
    const action = JSON.stringify(await nova.call('GET', own, { who }))
    return { trace, action, fault: (await nova.top(id, who))?.fault?.details ?? '' }
  }

  test(
    'is down, and says why, while its login is one of another project, and takes any user of its own',
    async () => {
      const layout = layoutIn(nova.checkout.home)
      const id = await nova.boot('mine', 'm1.small')
      await untilStatus(id, 'ACTIVE')
      const { id: below } = (await nova.below(id))!
      const host = async () => {
        const asked = { who: 'weir-admin' } as const
        const { hosts } = await nova.call<{ hosts: readonly ShownHost[] }>(
          'GET',
          '/federation/v1/hosts?cell=lab',
          asked,
        )
        return hosts[0]
      }
      /** As the host comes to log in again: on its own it does so when its token is about to end. */
      const logInAs = async ({ user, password }: OpenstackLogin, project: string) => {
        const domains = { user_domain: 'Default', project_domain: 'Default' }
        await writeLogin(layout, 'lab', { user, password, project, ...domains })
        process.kill((await nova.checkout.processes()).get('compute-lab-1')!, 'SIGKILL')
        await nova.checkout.weir('up')
      }

      await logInAs(nova.other.login, nova.other.login.project)
      await expect.poll(host, POLL).toMatchObject({
        is_up: false,
        down_reason: expect.stringContaining(
          'The credential of this host is for a project other than that of its servers in the nested cloud.',
        ),
      })
      expect(await status(id)).toBe('ACTIVE')
      await nova.call('DELETE', `${SERVERS}/${id}`)
      expect(await nova.below(id)).toMatchObject({ id: below, status: 'ACTIVE' })

      await nova.addToLab(nova.other)
      await logInAs(nova.other.login, nova.lab.login.project)
      await expect.poll(host, POLL).toMatchObject({ is_up: true, down_reason: null })
      await untilStatus(id, 'GONE')
      expect(await nova.below(id)).toBeUndefined()
    },
    TEST_MS,
  )

  test(
    'keeps to its project, and its name is free once it has left',
    async () => {
      const other = await nova.checkout.weir('cell', 'login', 'lab', '--cloud', 'other')
      expect(other).toMatchObject({
        code: expect.toSatisfy((code) => code !== 0),
        stderr: expect.stringContaining(`is for project ${nova.other.projectId}`),
      })
      // The cell reports now and then how many servers it has.
      const leave = () => nova.checkout.weir('cell', 'leave', 'lab', '--yes')
      await expect.poll(leave, POLL).toMatchObject({ code: 0 })
      const left = readdirSync(nova.checkout.home, { recursive: true })
        .map(String)
        .filter((path) => /(^|[/_-])lab([._-]|$)/.test(path) && !path.startsWith('logs/'))
      expect(left).toEqual([])
      const again = await nova.cell(['join', 'lab', '--driver', 'nested'])
      expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('takes servers') })
      await nova.checkout.succeed('cell', 'leave', 'lab', '--yes')
    },
    TEST_MS,
  )
})

function secondsSince(beganMs: number): string {
  return ((performance.now() - beganMs) / 1_000).toFixed(1)
}
