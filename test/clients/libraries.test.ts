import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUILT_IN } from '#gateway/app/images/metadefs/built-in.ts'
import { clientSettings, runClient, whyNoClient } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { PUBLIC_KEY } from '#test/env/sample-key.ts'

type Loose = Readonly<Record<string, unknown>>

/** What a client parsed, and the status it saw after each of its acts. */
type Seen = Loose & { readonly states: readonly (readonly string[])[] }

const PYTHON = '/usr/bin/python3'
const RUBY = '/usr/bin/ruby'

/** What each of them is missing, if anything. */
const why = {
  novaclient: whyNoClient('python3-novaclient'),
  glance: whyNoClient('python3-glanceclient'),
  sdk: whyNoClient('python3-openstacksdk'),
  libcloud: whyNoClient('python3-libcloud'),
  fog: whyNoClient('ruby-fog-openstack'),
}

const ADDRESS = expect.stringMatching(/^10\.86\.\d+\.\d+$/) as unknown
const ADDRESSES = { private: [expect.objectContaining({ addr: ADDRESS, version: 4 })] }
const KEY = { PUBLIC_KEY }

let cloud: Cloud
let endpoint: string

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
  endpoint = cloud.endpoints[0]!
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

/** Runs one of the programs beside this file as the demo user. */
async function drive(
  program: string,
  file: string,
  { authPath = '/identity/v3', args = [] as readonly string[] } = {},
): Promise<Seen> {
  const script = new URL(file, import.meta.url).pathname
  const settings = clientSettings(endpoint + authPath, cloud.foundation.accounts.demo)
  const all = [script, ...args, ...(isFullRun ? ['full'] : [])]
  return JSON.parse(await runClient(program, all, { ...settings, ...KEY })) as Seen
}

/** The short way knows the first two acts only. */
const done = (acts: readonly (readonly string[])[]) => (isFullRun ? acts : acts.slice(0, 2))

describe.concurrent('unmodified client libraries', () => {
  test.skipIf(why.glance !== undefined)('glanceclient reads and makes definitions', async () => {
    const script = new URL('glance_client.py', import.meta.url).pathname
    const { admin } = cloud.foundation.accounts
    const settings = clientSettings(`${endpoint}/identity/v3`, admin)
    const seen: unknown = JSON.parse(await runClient(PYTHON, [script], settings))

    expect(seen).toMatchObject({
      flavors: expect.arrayContaining([
        'OS::Compute::CPUPinning',
        'OS::Compute::Watchdog',
      ]) as unknown,
      kinds: ['OS::Glance::Image', 'OS::Nova::Aggregate', 'OS::Nova::Flavor', 'OS::Nova::Server'],
      watchdog: { 'hw:watchdog_action': { type: 'string' } },
      pages: BUILT_IN.length,
      protected: true,
      made: {
        title: 'Still mine',
        kinds: ['OS::Nova::Flavor'],
        properties: ['colour'],
        objects: ['Box'],
        tags: ['three', 'two'],
      },
      changed: ['Crate', 'Hue'],
      gone: true,
    })
  })

  const oldest = { version: '2.1', flavor: { id: '1' } }
  const newest = { version: '2.92', flavor: { original_name: 'm1.tiny', ram: 128 } }

  test.skipIf(why.novaclient !== undefined)('novaclient drives a server', async () => {
    for (const asked of isFullRun ? ['2.1', '2.latest'] : ['2.latest']) {
      const { version, flavor } = asked === '2.1' ? oldest : newest
      const seen = await drive(PYTHON, 'nova_client.py', { args: [asked] })
      expect(seen).toMatchObject({
        version,
        password: expect.stringMatching(/^\S{8,}$/) as unknown,
        listed: ['nova-1'],
        snapshot: 'nova-snap',
        gone: true,
        shown: {
          name: 'nova-1',
          status: 'ACTIVE',
          key_name: 'nova-key',
          metadata: { a: 'b' },
          image: { id: cloud.catalog.image },
          flavor,
          addresses: ADDRESSES,
          security_groups: [{ name: 'default' }],
        },
      })
      expect(seen.states).toEqual(
        done([
          ['stop', 'SHUTOFF'],
          ['start', 'ACTIVE'],
          ['reboot', 'ACTIVE'],
          ['reboot', 'ACTIVE'],
          ['pause', 'PAUSED'],
          ['unpause', 'ACTIVE'],
          ['suspend', 'SUSPENDED'],
          ['resume', 'ACTIVE'],
          ['resize', 'VERIFY_RESIZE'],
          ['revert_resize', 'ACTIVE'],
          ['resize', 'VERIFY_RESIZE'],
          ['confirm_resize', 'ACTIVE'],
          ['rebuild', 'ACTIVE'],
          ['rescue', 'RESCUE'],
          ['unrescue', 'ACTIVE'],
          ['shelve', 'SHELVED_OFFLOADED'],
          ['unshelve', 'ACTIVE'],
          ['lock', 'ACTIVE'],
          ['unlock', 'ACTIVE'],
          ['change_password', 'ACTIVE'],
          ['update', 'ACTIVE'],
        ]),
      )
      if (!isFullRun) continue
      expect(seen).toMatchObject({
        changed: { name: 'nova-3', metadata: { c: 'd' } },
        ports: [expect.any(String), expect.any(String)],
        groups: ['default'],
        console: expect.stringContaining('fake-guest') as unknown,
        zones: ['north'],
        limits: { maxTotalInstances: 10, maxTotalRAMSize: 51_200 },
        quota: { instances: 10, cores: 20 },
        keys: expect.arrayContaining(['nova-key']) as unknown,
        group: asked === '2.1' ? { policies: ['anti-affinity'] } : { policy: 'anti-affinity' },
      })
      expect((seen['actions'] as string[]).slice(-3)).toEqual(['start', 'stop', 'create'])
      if (asked !== '2.1') expect(seen['tags']).toEqual(['blue'])
    }
  })

  test.skipIf(why.sdk !== undefined)('openstacksdk drives a server', async () => {
    const seen = await drive(PYTHON, 'sdk_client.py')
    expect(seen).toMatchObject({
      listed: ['sdk-1'],
      address: ADDRESS,
      snapshot: { name: 'sdk-snap', status: 'active', visibility: 'private' },
      gone: true,
      shown: {
        status: 'ACTIVE',
        vm_state: 'active',
        power_state: 1,
        key_name: 'sdk-key',
        metadata: { a: 'b' },
        addresses: ADDRESSES,
        image: { id: cloud.catalog.image },
        flavor: { original_name: 'm1.tiny', ram: 128, vcpus: 1, disk: 1 },
      },
    })
    expect(seen['paged']).toBeGreaterThan(0)
    expect(seen.states).toEqual(
      done([
        ['stop_server', 'SHUTOFF'],
        ['start_server', 'ACTIVE'],
        ['reboot_server', 'ACTIVE'],
        ['reboot_server', 'ACTIVE'],
        ['pause_server', 'PAUSED'],
        ['unpause_server', 'ACTIVE'],
        ['suspend_server', 'SUSPENDED'],
        ['resume_server', 'ACTIVE'],
        ['resize_server', 'VERIFY_RESIZE'],
        ['revert_server_resize', 'ACTIVE'],
        ['resize_server', 'VERIFY_RESIZE'],
        ['confirm_server_resize', 'ACTIVE'],
        ['rebuild_server', 'ACTIVE'],
        ['rescue_server', 'RESCUE'],
        ['unrescue_server', 'ACTIVE'],
        ['shelve_server', 'SHELVED_OFFLOADED'],
        ['unshelve_server', 'ACTIVE'],
        ['lock_server', 'ACTIVE'],
        ['unlock_server', 'ACTIVE'],
        ['change_server_password', 'ACTIVE'],
        ['update_server', 'ACTIVE'],
      ]),
    )
    if (!isFullRun) return
    expect(seen).toMatchObject({
      changed: { name: 'sdk-3', metadata: { c: 'd' }, flavor: { original_name: 'm1.small' } },
      ports: [expect.any(String), expect.any(String)],
      groups: [expect.objectContaining({ name: 'default' })],
      console: expect.stringContaining('fake-guest') as unknown,
      zones: ['north'],
      limits: { instances: 10 },
      keys: expect.arrayContaining(['sdk-key']) as unknown,
      group: { name: 'sdk-group', policy: 'anti-affinity', member_ids: [] },
      uploaded: { name: 'sdk-image', status: 'active', hypervisor_type: 'fake' },
      absent: null,
    })
  })

  test.skipIf(why.libcloud !== undefined)(
    'libcloud, which discovers nothing, drives a server',
    async () => {
      for (const version of isFullRun ? ['1.1', '2.2'] : ['2.2']) {
        const seen = await drive(PYTHON, 'libcloud_client.py', { authPath: '', args: [version] })
        expect(seen).toMatchObject({
          size: { ram: 128, disk: 1, vcpus: 1 },
          listed: expect.arrayContaining(['libcloud-1']) as unknown,
          snapshot: 'libcloud-snap',
          deleted: true,
          shown: {
            name: 'libcloud-1',
            state: 'running',
            private_ips: [ADDRESS],
            extra: {
              imageId: cloud.catalog.image,
              flavorId: cloud.catalog.tiny,
              key_name: 'libcloud-key',
              metadata: { a: 'b' },
              vm_state: 'active',
            },
          },
        })
        expect(seen.states).toEqual(
          done([
            ['ex_stop_node', 'stopped', 'stopped'],
            ['ex_start_node', 'active', 'running'],
            ['reboot_node', 'active', 'running'],
            ['ex_soft_reboot_node', 'active', 'running'],
            ['ex_pause_node', 'paused', 'unknown'],
            ['ex_unpause_node', 'active', 'running'],
            ['ex_suspend_node', 'suspended', 'suspended'],
            ['ex_resume_node', 'active', 'running'],
            ['ex_resize', 'resized', 'running'],
            ['ex_revert_resize', 'active', 'running'],
            ['ex_resize', 'resized', 'running'],
            ['ex_confirm_resize', 'active', 'running'],
            ['ex_rescue', 'rescued', 'pending'],
            ['ex_unrescue', 'active', 'running'],
            ['ex_set_password', 'active', 'running'],
            ['ex_set_server_name', 'active', 'running'],
            ['ex_set_metadata', 'active', 'running'],
          ]),
        )
        if (!isFullRun) continue
        expect(seen).toMatchObject({
          name: 'libcloud-2',
          metadata: { c: 'd' },
          console: expect.stringContaining('fake-guest') as unknown,
          groups: ['default'],
          specs: {},
          keys: expect.arrayContaining(['libcloud-key']) as unknown,
          ...(version === '1.1' ? {} : { quota: 10, ports: ['active'], subnets: ['10.86.0.0/20'] }),
        })
      }
    },
  )

  test.skipIf(why.fog !== undefined)('fog drives a server', async () => {
    const seen = await drive(RUBY, 'fog_client.rb')
    expect(seen).toMatchObject({
      address: ADDRESS,
      listed: ['fog-1'],
      metadata: { a: 'b' },
      snapshot: 'fog-snap',
      gone: true,
      shown: {
        name: 'fog-1',
        state: 'ACTIVE',
        key_name: 'fog-key',
        image: { id: cloud.catalog.image },
        flavor: { id: cloud.catalog.tiny },
        addresses: ADDRESSES,
        os_ext_sts_vm_state: 'active',
      },
    })
    expect(seen.states).toEqual(
      done([
        ['stop', 'SHUTOFF'],
        ['start', 'ACTIVE'],
        ['reboot', 'ACTIVE'],
        ['reboot', 'ACTIVE'],
        ['pause', 'PAUSED'],
        ['start', 'ACTIVE'],
        ['suspend', 'SUSPENDED'],
        ['start', 'ACTIVE'],
        ['resize', 'VERIFY_RESIZE'],
        ['revert_resize', 'ACTIVE'],
        ['resize', 'VERIFY_RESIZE'],
        ['confirm_resize', 'ACTIVE'],
        ['rebuild', 'ACTIVE'],
        ['shelve', 'SHELVED_OFFLOADED'],
        ['unshelve', 'ACTIVE'],
        ['change_password', 'ACTIVE'],
      ]),
    )
    if (!isFullRun) return
    expect(seen).toMatchObject({
      name: 'fog-3',
      changed: { c: 'd' },
      console: expect.stringContaining('fake-guest') as unknown,
      groups: ['default'],
      ports: ['ACTIVE'],
      zones: ['north'],
      limits: { maxTotalInstances: 10 },
      group: { name: 'fog-group', policies: ['anti-affinity'] },
      refused: { badRequest: { code: 400, message: 'Flavor none could not be found.' } },
    })
    expect((seen['actions'] as string[]).slice(-3)).toEqual(['start', 'stop', 'create'])
  })
})
