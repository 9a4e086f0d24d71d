import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { programsDirectory } from '#deploy/paths.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  attachAndDetach,
  changeResources,
  OF_ATTACHMENTS,
  OF_RESOURCES,
} from '#test/env/api/resource-changes.ts'
import {
  act,
  activeServer,
  createServer,
  deleteServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { makeStored } from '#test/env/api/volumes.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { RabbitMq } from '#test/env/rabbitmq.ts'
import { storesReported } from '#test/env/stores-reported.ts'

const LIMIT_MS = 60_000
const LIBRARIES = join(programsDirectory, 'usr/lib/python3/dist-packages')

/** As `nova_notifications.py` prints it. */
interface Heard {
  readonly type: string
  readonly priority: string
  readonly publisher: string
  readonly id: string
  readonly uuid: string | null
  readonly problems: readonly string[]
}

describe.skipIf(!isFullRun)('a listener of oslo.messaging, with the objects of Nova', () => {
  const heard: Heard[] = []
  let rabbit: RabbitMq
  let cloud: Cloud
  let demo: ApiClient
  let listener: ChildProcess

  beforeAll(async () => {
    rabbit = await RabbitMq.start()
    cloud = await startCloud({
      gateways: 1,
      cells: 1,
      processesPerCell: 1,
      hostsPerCell: 1,
      driver: { vcpus: '8', memory_mb: '8192' },
      gateway: { GATEWAY_NOTIFICATIONS_URL: rabbit.url },
    })
    demo = cloud.as('demo')
  })

  afterAll(async () => {
    listener?.kill()
    await cloud?.[Symbol.asyncDispose]()
    await rabbit?.[Symbol.asyncDispose]()
  })

  function listen(): void {
    const script = join(import.meta.dirname, '../env/nova_notifications.py')
    const env = { ...process.env, PYTHONPATH: LIBRARIES }
    listener = spawn('/usr/bin/python3', [script, rabbit.url.replace('amqp:', 'rabbit:')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface({ input: listener.stdout! }).on('line', (line) =>
      heard.push(JSON.parse(line) as Heard),
    )
  }

  const about = (id: string) =>
    heard.filter(({ uuid, type }) => uuid === id && type !== 'instance.update')

  async function untilHeard(id: string, type: string): Promise<readonly string[]> {
    await waitFor(`${type} of ${id}`, () => about(id).some((each) => each.type === type), LIMIT_MS)
    return about(id).map((each) => each.type)
  }

  test('gets what was sent before it came, and what happens then, in order', async () => {
    const { id } = await activeServer(cloud, demo)
    listen()
    await act(demo, id, { 'os-stop': null })
    await untilStatus(demo, id, 'SHUTOFF')
    await act(demo, id, { rescue: {} })
    await untilStatus(demo, id, 'RESCUE')
    await deleteServer(demo, id)

    expect(await untilHeard(id, 'instance.delete.end')).toEqual([
      'instance.create.start',
      'instance.create.end',
      'instance.power_off.start',
      'instance.power_off.end',
      'instance.rescue.start',
      'instance.rescue.end',
      'instance.delete.start',
      'instance.delete.end',
    ])
  })

  test('gets changes of what servers are made with, and of their volumes and interfaces', async () => {
    await storesReported(cloud)
    await changeResources(cloud)
    const { id } = await activeServer(cloud, demo)
    await attachAndDetach(cloud, id, await makeStored(demo, 'volume', { size: 1 }))
    await deleteServer(demo, id)

    const seen = await untilHeard(id, 'instance.delete.end')
    expect(seen.filter((type) => /volume_|interface_/.test(type))).toEqual(OF_ATTACHMENTS)
    for (const [kind, expected] of Object.entries(OF_RESOURCES)) {
      const about = heard.filter(({ type, uuid }) => {
        return type.startsWith(`${kind}.`) && (kind !== 'flavor' || uuid === 'notified')
      })
      expect(about.map(({ type }) => type)).toEqual(expected)
    }
  })

  test('gets errors, and changes of hosts', async () => {
    const admin = cloud.as('admin')
    const { body } = await admin.post<{ flavor: { id: string } }>('/compute/v2.1/flavors', {
      flavor: { name: 'large', vcpus: 20, ram: 51_200, disk: 1 },
    })
    const id = await createServer(cloud, demo, { flavorRef: body.flavor.id })
    await untilHeard(id, 'compute_task.build_instances.error')
    await deleteServer(demo, id)

    const [host] = cloud.hosts
    await admin.put(
      '/compute/v2.1/os-services/disable-log-reason',
      { host: host!.name, binary: 'nova-compute', disabled_reason: 'a new disk' },
      { version: '2.1' },
    )
    await waitFor(
      'an update of the host',
      () => heard.some(({ type }) => type === 'service.update'),
      LIMIT_MS,
    )

    expect(about(id).map(({ type, priority }) => [type, priority])).toContainEqual([
      'compute_task.build_instances.error',
      'ERROR',
    ])
  })

  test('and Nova takes every payload as its own', () => {
    expect(heard.length).toBeGreaterThan(40)
    expect(
      heard.flatMap(({ type, problems }) => problems.map((each) => `${type} ${each}`)),
    ).toEqual([])
    expect(new Set(heard.map(({ id }) => id)).size).toBe(heard.length)
  })
})
