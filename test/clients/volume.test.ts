import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'
import { storesReported } from '#test/env/stores-reported.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

const why = whyNoOpenstack()
/** Dozens of commands one after the other. */
const LIMIT_MS = 300_000

let cloud: Cloud
let admin: OpenstackCli
let demo: OpenstackCli

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  await storesReported(cloud)
  const [endpoint = ''] = cloud.endpoints
  admin = new OpenstackCli(endpoint, cloud.foundation.accounts.admin)
  demo = new OpenstackCli(endpoint, cloud.foundation.accounts.demo)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const names = (rows: Rows) => rows.map((row) => row['Name'])

describe.skipIf(why !== undefined)(`the openstack command (${why ?? 'installed'})`, () => {
  test('describes types and limits volumes', { timeout: LIMIT_MS }, async () => {
    const options = '--private --description fast --property a=1 --property multiattach=<is>'
    await admin.run(`volume type create ${options} cli-type`)
    expect(await admin.json('volume type show cli-type')).toMatchObject({
      name: 'cli-type',
      description: 'fast',
      is_public: false,
      properties: { a: '1', multiattach: '<is>' },
    })
    expect(names(await demo.json<Rows>('volume type list'))).toEqual([])
    await admin.run('volume type set --project demo --property b=2 cli-type')
    await admin.run('volume type unset --property a cli-type')
    expect(names(await demo.json<Rows>('volume type list'))).toEqual(['cli-type'])
    expect(await admin.json<Rows>('volume type list --long')).toMatchObject([
      { Name: 'cli-type', Properties: { b: '2', multiattach: '<is>' } },
    ])

    await admin.run('quota set --volumes 5 --gigabytes 50 demo')
    expect(await demo.json('quota show')).toMatchObject({ volumes: 5, gigabytes: 50 })
    expect(await demo.json<Rows>('limits show --absolute')).toContainEqual({
      Name: 'maxTotalVolumes',
      Value: 5,
    })

    await admin.run('volume type unset --project demo cli-type')
    await admin.run('volume type delete cli-type')
    expect(names(await admin.json<Rows>('volume type list'))).toEqual([])
  })

  test('finds zones and services, and what there is none of', { timeout: LIMIT_MS }, async () => {
    expect(await demo.json<Rows>('availability zone list --volume')).toEqual([
      { 'Zone Name': 'north', 'Zone Status': 'available' },
    ])
    expect(await admin.json<Rows>('volume service list')).toMatchObject([
      { Binary: 'cinder-scheduler', Status: 'enabled', State: 'up' },
    ])
    const filters = '--os-volume-api-version 3.33 block storage resource filter list'
    expect(await demo.json<Rows>(filters)).toContainEqual({
      Resource: 'volume',
      Filters: expect.arrayContaining(['status', 'size']),
    })
    for (const command of ['volume backup list', 'volume qos list', 'consistency group list'])
      expect(await admin.json<Rows>(command)).toEqual([])
  })

  test('creates a volume, attaches, extends and deletes it', { timeout: LIMIT_MS }, async () => {
    const { image, tiny, network } = cloud.catalog
    const shape = `--image ${image} --flavor ${tiny} --nic net-id=${network}`
    await demo.run(`server create ${shape} --wait cli-server`)

    await demo.run('volume create --size 2 --description mine --property a=b cli-volume')
    await until('available')
    expect(await demo.json('volume show cli-volume')).toMatchObject({
      name: 'cli-volume',
      size: 2,
      description: 'mine',
      properties: { a: 'b' },
    })
    await demo.run(`volume create --size 1 --image ${image} cli-of-image`)
    await until('available', 'cli-of-image')
    expect(await demo.json('volume show cli-of-image')).toMatchObject({
      bootable: 'true',
      volume_image_metadata: { image_id: image },
    })
    await demo.run('volume set --image-property hw_disk_bus=scsi cli-of-image')
    await demo.run('volume unset --image-property image_name cli-of-image')
    const described = await demo.json<{ readonly volume_image_metadata: object }>(
      'volume show cli-of-image',
    )
    expect(described.volume_image_metadata).toMatchObject({ hw_disk_bus: 'scsi' })
    expect(described.volume_image_metadata).not.toHaveProperty('image_name')
    await demo.run('volume delete cli-of-image')
    await demo.run('volume create --source cli-volume cli-copy')
    await until('available', 'cli-copy')
    expect(await demo.json('volume show cli-copy')).toMatchObject({ size: 2 })
    await demo.run('volume delete cli-copy')
    await demo.run('volume set --size 3 --name cli-renamed cli-volume')
    await until('available', 'cli-renamed')
    expect(await demo.json('volume show cli-renamed')).toMatchObject({ size: 3 })

    await demo.run('server add volume cli-server cli-renamed')
    await until('in-use', 'cli-renamed')
    expect(await demo.json<Rows>('volume list')).toMatchObject([
      { Name: 'cli-renamed', Status: 'in-use', 'Attached to': [{ device: '/dev/vdb' }] },
    ])
    await demo.run('--os-volume-api-version 3.42 volume set --size 4 cli-renamed')
    await until('in-use', 'cli-renamed')
    expect(await demo.json('volume show cli-renamed')).toMatchObject({ size: 4 })
    await demo.run('server remove volume cli-server cli-renamed')
    await until('available', 'cli-renamed')
    await demo.run('image create --volume cli-renamed --disk-format qcow2 cli-image')
    await until('available', 'cli-renamed')
    expect(await demo.json('image show cli-image')).toMatchObject({ status: 'active', min_disk: 4 })
    await demo.run('image delete cli-image')
    await demo.run('volume delete cli-renamed')
    await demo.run('server delete --wait cli-server')
    await demo.run(`volume create --size 1 --image ${image} cli-root`)
    await until('available', 'cli-root')
    const sized = `--flavor ${tiny} --nic net-id=${network} --wait`
    await demo.run(`server create ${sized} --volume cli-root cli-from-volume`)
    await demo.run(`server create ${sized} --image ${image} --boot-from-volume 1 cli-with-volume`)
    const rows = await demo.json<Rows>('server list')
    expect(rows.map(({ Image }) => Image)).toEqual(Array(2).fill('N/A (booted from volume)'))
    expect(await demo.json('volume show cli-root')).toMatchObject({ status: 'in-use' })
    await demo.run('server delete --wait cli-from-volume cli-with-volume')
    await until('available', 'cli-root')
    for (const { ID } of await demo.json<Rows>('volume list'))
      await demo.run(`volume delete ${String(ID)}`)
    await waitFor(
      'no volume',
      async () => (await demo.json<Rows>('volume list')).length === 0,
      LIMIT_MS,
    )
  })
})

describe.skipIf(why !== undefined)(
  `the openstack command and snapshots (${why ?? 'installed'})`,
  () => {
    test('keeps a volume as it is, and starts from that', { timeout: LIMIT_MS }, async () => {
      const { image, tiny, network } = cloud.catalog
      await demo.run(`volume create --size 1 --image ${image} cli-source`)
      await until('available', 'cli-source')

      const options = '--volume cli-source --description mine --property a=b'
      await demo.run(`volume snapshot create ${options} cli-kept`)
      await untilKept('cli-kept')
      expect(await demo.json('volume snapshot show cli-kept')).toMatchObject({
        ...{ name: 'cli-kept', description: 'mine', size: 1, properties: { a: 'b' } },
      })
      await demo.run('volume snapshot set --name cli-renamed --property c=d cli-kept')
      await demo.run('volume snapshot unset --property a cli-renamed')
      expect(await demo.json<Rows>('volume snapshot list --long')).toMatchObject([
        { Name: 'cli-renamed', Status: 'available', Size: 1, Properties: { c: 'd' } },
      ])
      await demo.run('volume create --snapshot cli-renamed cli-made')
      await until('available', 'cli-made')
      const sized = `--flavor ${tiny} --nic net-id=${network} --wait`
      await demo.run(`server create ${sized} --snapshot cli-renamed cli-from-snapshot`)
      expect(await demo.json('server show cli-from-snapshot')).toMatchObject({ status: 'ACTIVE' })

      await demo.run('server delete --wait cli-from-snapshot')
      await expect(demo.run('volume delete cli-source')).rejects.toThrow('have snapshots')
      await demo.run('volume delete --purge cli-source')
      for (const { ID } of await demo.json<Rows>('volume list'))
        await demo.run(`volume delete ${String(ID)}`).catch(() => undefined)
      await waitFor(
        'nothing',
        async () =>
          (await demo.json<Rows>('volume list')).length === 0 &&
          (await demo.json<Rows>('volume snapshot list')).length === 0,
        LIMIT_MS,
      )
    })
  },
)

describe.skipIf(why !== undefined)(
  `the openstack command and transfers (${why ?? 'installed'})`,
  () => {
    test('offers a volume, and another project takes it', { timeout: LIMIT_MS }, async () => {
      await demo.run('volume create --size 1 cli-present')
      await until('available', 'cli-present')

      type Offered = Readonly<Record<'id' | 'auth_key', string>>
      const offered = await demo.json<Offered>(
        'volume transfer request create --name gift cli-present',
      )
      expect(names(await demo.json<Rows>('volume transfer request list'))).toEqual(['gift'])
      expect(await demo.json('volume transfer request show gift')).toMatchObject({ name: 'gift' })
      const { id, auth_key } = offered
      await admin.run(`volume transfer request accept --auth-key ${auth_key} ${id}`)

      expect(await demo.json<Rows>('volume list')).toEqual([])
      expect(names(await admin.json<Rows>('volume list'))).toEqual(['cli-present'])
      await admin.run('volume delete cli-present')
      await waitFor(
        'no volume',
        async () => (await admin.json<Rows>('volume list')).length === 0,
        LIMIT_MS,
      )
    })
  },
)

const untilKept = (name: string) =>
  waitFor(
    `${name} is available`,
    async () =>
      (await demo.json<{ status: string }>(`volume snapshot show ${name}`)).status === 'available',
    LIMIT_MS,
  )

const until = (status: string, name = 'cli-volume') =>
  waitFor(
    `${name} is ${status}`,
    async () => (await demo.json<{ status: string }>(`volume show ${name}`)).status === status,
    LIMIT_MS,
  )
