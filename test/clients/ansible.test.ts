import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clientSettings, runClient, whyNoClient } from '#test/env/client-program.ts'
import { startCloud } from '#test/env/cloud.ts'
import { debian13 } from '#test/env/debian-13.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { offerRouting } from '#test/env/network-objects.ts'
import { PUBLIC_KEY } from '#test/env/sample-key.ts'

const PLAYBOOK = '/usr/bin/ansible-playbook'
const PROGRAM = new URL('ansible/server.yaml', import.meta.url).pathname
/** Each task is a Python of its own. */
const LIMIT_MS = 300_000
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
    // The modules of Debian 12 refuse its openstacksdk; those of Debian 13 run with Debian 12's Ansible and Python.
    const files = join(await debian13(['ansible', 'python3-openstacksdk']), LIBRARIES)
    await using cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
    const { directory, accounts } = cloud.foundation
    await offerRouting(cloud)
    // Not the folder itself: what else is in it is for another Ansible and another Python.
    const [sdk, modules, results] = ['sdk', 'modules', 'results.json'].map((name) =>
      join(directory, name),
    ) as [string, string, string]
    const collection = 'ansible_collections/openstack'
    for (const name of readdirSync(files).filter((each) => each.startsWith('openstack')))
      cpSync(join(files, name), join(sdk, name), { recursive: true })
    cpSync(join(files, collection), join(modules, collection), { recursive: true })

    const settings = {
      ...clientSettings(`${cloud.endpoints[0]}/identity/v3`, accounts.demo),
      HOME: directory,
      PUBLIC_KEY,
      RESULT: results,
      PYTHONPATH: sdk,
      ANSIBLE_COLLECTIONS_PATH: modules,
      ANSIBLE_DISPLAY_FAILED_STDERR: 'True',
      ANSIBLE_LOCALHOST_WARNING: 'False',
    }
    await runClient(PLAYBOOK, [PROGRAM], settings, LIMIT_MS)

    const outside = { addr: expect.stringMatching(/^203\.0\.113\./), 'OS-EXT-IPS:type': 'floating' }
    const seen = JSON.parse(readFileSync(results, 'utf8')) as object
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
