import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clientSettings, runClient, whyNoClient } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { debian13 } from '#test/env/debian-13.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { offerRouting } from '#test/env/network-objects.ts'
import { PUBLIC_KEY } from '#test/env/sample-key.ts'

const PLAYBOOK = '/usr/bin/ansible-playbook'
/** Each task is a Python of its own. */
const LIMIT_MS = 600_000
const LIBRARIES = 'usr/lib/python3/dist-packages'

/** The packages that Debian 13's openstacksdk needs and does not depend on. */
const NEEDED = ['python3-platformdirs', 'python3-typing-extensions']

const why = isFullRun
  ? (whyNoClient('ansible-core', PLAYBOOK) ??
    NEEDED.map((name) => whyNoClient(name)).find((each) => each !== undefined))
  : 'fetching its modules is for the long way'

test.skipIf(why !== undefined)(
  `Ansible makes a server and what it needs (${why ?? 'installed'})`,
  { timeout: 2 * LIMIT_MS },
  async () => {
    await using cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
    await offerRouting(cloud)

    const seen = await play(cloud, 'demo', 'server.yaml')

    const outside = { addr: expect.stringMatching(/^203\.0\.113\./), 'OS-EXT-IPS:type': 'floating' }
    const server = { name: 'ans-1', status: 'ACTIVE', metadata: { a: 'b' }, key_name: 'ans-key' }
    expect(seen).toMatchObject({
      made: { changed: true, server: { ...server, security_groups: [{ name: 'ans-group' }] } },
      again: { changed: false },
      shown: { servers: [server] },
      stopped: { changed: true },
      gone: { servers: [] },
      routed: { changed: true, router: { name: 'ans-edge' } },
      routed_again: { changed: false },
      reached: { changed: true },
      reached_again: { changed: false },
      outside: {
        servers: [
          { addresses: { 'ans-net': [{ addr: expect.stringMatching(/^10\.91\./) }, outside] } },
        ],
      },
    })
  },
)

test.skipIf(why !== undefined)(
  `Ansible makes volumes and servers that use them (${why ?? 'installed'})`,
  { timeout: 2 * LIMIT_MS },
  async () => {
    await using cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })

    const seen = await play(cloud, 'admin', 'volumes.yaml')

    const changed = { changed: true }
    const unchanged = { changed: false }
    expect(seen).toMatchObject({
      type: { ...changed, volume_type: { name: 'ans-type', extra_specs: { note: 'kept' } } },
      type_again: unchanged,
      type_shown: { volume_type: { name: 'ans-type', description: 'for Ansible' } },
      made: {
        ...changed,
        volume: { name: 'ans-data', size: 1, volume_type: 'ans-type', metadata: { a: 'b' } },
      },
      again: unchanged,
      // Shown as it is until its host has extended it, as by Cinder.
      extended: changed,
      saved: {
        ...changed,
        volume_snapshot: { name: 'ans-snapshot', status: 'available', size: 2 },
      },
      saved_again: unchanged,
      saved_shown: { volume_snapshots: [{ name: 'ans-snapshot' }] },
      copied: { ...changed, volume: { size: 2, status: 'available' } },
      cloned: { ...changed, volume: { size: 2, status: 'available' } },
      booted: { ...changed, server: { name: 'ans-root', status: 'ACTIVE' } },
      attached: changed,
      attached_again: unchanged,
      detached: changed,
      services: {
        volume_services: expect.arrayContaining([
          expect.objectContaining({ binary: 'cinder-scheduler', state: 'up' }),
        ]),
      },
      gone: { volumes: [] },
    })
    const { volumes } = seen['used'] as { readonly volumes: readonly Volume[] }
    const shown = volumes.map(({ name, size, status }) => `${name}: ${size} GiB, ${status}`)
    expect(shown.toSorted()).toEqual([
      ': 1 GiB, in-use',
      'ans-clone: 2 GiB, available',
      'ans-copy: 2 GiB, in-use',
      'ans-data: 2 GiB, in-use',
    ])
  },
)

interface Volume {
  readonly name: string
  readonly size: number
  readonly status: string
}

/** What the tasks of a playbook registered that an account of the cloud plays. */
async function play(
  cloud: Cloud,
  account: 'admin' | 'demo',
  playbook: string,
): Promise<Readonly<Record<string, unknown>>> {
  // The modules of Debian 12 refuse its openstacksdk; those of Debian 13 run with Debian 12's Ansible and Python.
  const files = join(await debian13(['ansible', 'python3-openstacksdk']), LIBRARIES)
  const { directory, accounts } = cloud.foundation
  // Not the folder itself: what else is in it is for another Ansible and another Python.
  const [sdk, modules, results] = ['sdk', 'modules', 'results.json'].map((name) =>
    join(directory, name),
  ) as [string, string, string]
  const collection = 'ansible_collections/openstack'
  for (const name of readdirSync(files).filter((each) => each.startsWith('openstack')))
    cpSync(join(files, name), join(sdk, name), { recursive: true })
  cpSync(join(files, collection), join(modules, collection), { recursive: true })

  const settings = {
    ...clientSettings(`${cloud.endpoints[0]}/identity/v3`, accounts[account]),
    HOME: directory,
    PUBLIC_KEY,
    RESULT: results,
    PYTHONPATH: sdk,
    ANSIBLE_COLLECTIONS_PATH: modules,
    ANSIBLE_DISPLAY_FAILED_STDERR: 'True',
    ANSIBLE_LOCALHOST_WARNING: 'False',
  }
  const program = new URL(`ansible/${playbook}`, import.meta.url).pathname
  await runClient(PLAYBOOK, [program], settings, LIMIT_MS)
  return JSON.parse(readFileSync(results, 'utf8')) as Readonly<Record<string, unknown>>
}
