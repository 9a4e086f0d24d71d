import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'
import { FINGERPRINT, PUBLIC_KEY } from '#test/env/sample-key.ts'

type Row = Readonly<Record<string, unknown>>

const why = whyNoOpenstack()
const IMAGE = '--disk-format raw --container-format bare --property hypervisor_type=fake'
const IMPORTED_LIMIT_MS = 60_000
const SERVER = '--image tiny --flavor m1.tiny --network private --wait'

let cloud: Cloud
let admin: OpenstackCli
let demo: OpenstackCli
let files: { readonly key: string; readonly userData: string }

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud()
  const [endpoint = ''] = cloud.endpoints
  admin = new OpenstackCli(endpoint, cloud.foundation.accounts.admin)
  demo = new OpenstackCli(endpoint, cloud.foundation.accounts.demo)
  files = {
    key: join(cloud.foundation.directory, 'key.pub'),
    userData: join(cloud.foundation.directory, 'user-data'),
  }
  writeFileSync(files.key, `${PUBLIC_KEY}\n`)
  writeFileSync(files.userData, '#!/bin/sh\necho hello\n')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const named = (rows: readonly Row[], name: string) => rows.find((row) => row['Name'] === name)
const column = (rows: readonly Row[], name: string) => rows.map((row) => row[name])

describe
  .skipIf(why !== undefined)
  .concurrent(`the openstack command (${why ?? 'installed'})`, () => {
    test('a user boots a server, works with it and deletes it', async () => {
      await demo.run(`keypair create --public-key ${files.key} cli-key`)
      const options = `--key-name cli-key --user-data ${files.userData} --property a=b --config-drive True`
      const created = await demo.json(`server create ${SERVER} ${options} cli-1`)

      expect(created).toMatchObject({
        name: 'cli-1',
        status: 'ACTIVE',
        'OS-EXT-STS:vm_state': 'active',
        'OS-EXT-STS:power_state': 1,
        flavor: 'm1.tiny (1)',
        image: `tiny (${cloud.catalog.image})`,
        key_name: 'cli-key',
        properties: { a: 'b' },
        config_drive: 'True',
        addresses: { private: [expect.stringMatching(/^10\.86\.\d+\.\d+$/)] },
        security_groups: [{ name: 'default' }],
      })
      const { adminPass, ...lasting } = created
      expect(adminPass).toMatch(/^\S{8,}$/)
      expect(await demo.json('server show cli-1')).toEqual(lasting)
      expect(await demo.json('server list --long --name cli-1 --status ACTIVE')).toEqual([
        expect.objectContaining({
          ID: created['id'],
          Status: 'ACTIVE',
          'Power State': 1,
          Networks: created['addresses'],
          'Image Name': 'tiny',
          'Flavor Name': 'm1.tiny',
          'Availability Zone': created['OS-EXT-AZ:availability_zone'],
          Properties: { a: 'b' },
        }),
      ])

      // The command returns before the work is done.
      const until = (status: string) => untilStatus(cloud.as('demo'), String(created['id']), status)
      await demo.run('server stop cli-1')
      await until('SHUTOFF')
      expect(column(await demo.json('server list --status SHUTOFF'), 'Name')).toEqual(['cli-1'])
      await demo.run('server start cli-1')
      await until('ACTIVE')
      await demo.run('server reboot --wait cli-1')
      await demo.run('server pause cli-1')
      await until('PAUSED')
      await demo.run('server unpause cli-1')
      await until('ACTIVE')
      expect(await demo.run('console log show cli-1')).toMatch(
        new RegExp(`uuid ${String(created['id'])}.*off.*on.*rebooted.*paused.*unpaused`, 's'),
      )

      const events = await demo.json<readonly Row[]>('server event list cli-1')
      expect(column(events, 'Action')).toEqual([
        'unpause',
        'pause',
        'reboot',
        'start',
        'stop',
        'create',
      ])
      const requestId = String(events.at(-1)?.['Request ID'])
      expect(await demo.json(`server event show cli-1 ${requestId}`)).toMatchObject({
        action: 'create',
        instance_uuid: created['id'],
        request_id: requestId,
        message: null,
      })
      await demo.run('server delete --wait cli-1')
      expect(await demo.json('server list --name cli-1')).toEqual([])
    })

    test('an operator sees the hosts and their capacity', async () => {
      expect(column(await admin.json('catalog list'), 'Type')).toEqual([
        'identity',
        'compute',
        'image',
        'network',
        'federation',
        'placement',
        'block-storage',
        'volumev3',
      ])
      expect(column(await admin.json('availability zone list --compute'), 'Zone Name')).toEqual([
        'internal',
        'north',
        'south',
      ])
      expect(await admin.json('hypervisor show north-1')).toMatchObject({
        hypervisor_hostname: 'north-1',
        hypervisor_type: 'fake',
        state: 'up',
        status: 'enabled',
        vcpus: 64,
        memory_mb: 262_144,
        local_gb: 10_000,
      })
      const service = 'north-1 nova-compute'
      await admin.run(`compute service set --disable --disable-reason maintenance ${service}`)
      const services = await admin.json<readonly Row[]>(
        'compute service list --service nova-compute --long',
      )
      expect(services).toHaveLength(cloud.hosts.length)
      expect(services.find((row) => row['Host'] === 'north-1')).toMatchObject({
        Binary: 'nova-compute',
        Zone: 'north',
        Status: 'disabled',
        State: 'up',
        'Disabled Reason': 'maintenance',
      })
      await admin.run(`compute service set --enable ${service}`)
    })

    test('a user makes an image, shares it with another project, reads it back and deletes it', async () => {
      const created = await demo.json(`image create ${IMAGE} --file ${files.userData} cli-mine`)
      // openstacksdk shows the answer from before it sent the data, with Glance too.
      expect(created).toMatchObject({ name: 'cli-mine', status: 'queued', visibility: 'shared' })
      const id = String(created['id'])
      expect(await demo.json('image show cli-mine')).toMatchObject({
        status: 'active',
        size: 21,
        disk_format: 'raw',
        properties: expect.objectContaining({ hypervisor_type: 'fake', os_hash_algo: 'sha512' }),
      })
      // A user can name other projects by id only.
      const project = await cloud.projectId('admin')
      const offered = await demo.json(`image add project ${id} ${project}`)
      expect(offered).toMatchObject({ status: 'pending' })
      await admin.run(`image set --accept ${id}`)
      const members = await demo.json<readonly Row[]>(`image member list ${id}`)
      expect(column(members, 'Status')).toEqual(['accepted'])
      await admin.run(`image save --file ${files.userData}.saved ${id}`)
      expect(readFileSync(`${files.userData}.saved`, 'utf8')).toBe('#!/bin/sh\necho hello\n')
      await demo.run(`image remove project ${id} ${project}`)
      await demo.run('image delete cli-mine')
      expect(named(await demo.json('image list'), 'cli-mine')).toBeUndefined()
    })

    test('a user makes a network with a subnet, a port and a group, finds them by tag, and deletes them', async () => {
      const network = await demo.json('network create --tag blue --description Mine net-1')
      expect(network).toMatchObject({ name: 'net-1', tags: ['blue'], status: 'ACTIVE', mtu: 1500 })
      const range = '--subnet-range 192.0.2.0/24 --dns-nameserver 192.0.2.53'
      const subnet = await demo.json(`subnet create --network net-1 ${range} sub-1`)
      expect(subnet).toMatchObject({
        cidr: '192.0.2.0/24',
        gateway_ip: '192.0.2.1',
        dns_nameservers: ['192.0.2.53'],
        allocation_pools: [{ start: '192.0.2.2', end: '192.0.2.254' }],
      })
      await demo.run('security group create --tag blue web')
      const rule = '--protocol tcp --dst-port 80:81 --remote-ip 198.51.100.0/24'
      expect(await demo.json(`security group rule create ${rule} web`)).toMatchObject({
        port_range_min: 80,
        port_range_max: 81,
        protocol: 'tcp',
        remote_ip_prefix: '198.51.100.0/24',
      })
      const address = '--fixed-ip subnet=sub-1,ip-address=192.0.2.9'
      const port = await demo.json(
        `port create --network net-1 ${address} --security-group web --tag blue port-1`,
      )
      expect(port).toMatchObject({
        fixed_ips: [{ subnet_id: subnet['id'], ip_address: '192.0.2.9' }],
        status: 'DOWN',
      })

      expect(column(await demo.json('network list --tags blue'), 'Name')).toEqual(['net-1'])
      expect(column(await demo.json('port list --any-tags blue,red'), 'Name')).toEqual(['port-1'])
      expect(column(await demo.json('security group list --tags blue'), 'Name')).toEqual(['web'])
      const found = 'port list --network net-1 --fixed-ip ip-address=192.0.2.9'
      expect(column(await demo.json(found), 'ID')).toEqual([port['id']])

      await expect(demo.run('network delete net-1')).rejects.toThrow('still in use')
      await demo.run('port delete port-1')
      await demo.run('network delete net-1')
      await demo.run('security group delete web')
      expect(await demo.json('subnet list --name sub-1')).toEqual([])
    })

    test('an operator makes a flavor and sets a quota, and a user sees it', async () => {
      const flavor = await admin.json('flavor create --ram 256 --vcpus 2 --disk 3 cli-flavor')
      expect(flavor).toMatchObject({ name: 'cli-flavor', ram: 256, vcpus: 2, disk: 3 })
      expect(await demo.json('flavor show cli-flavor')).toMatchObject({
        id: flavor['id'],
        'os-flavor-access:is_public': true,
      })
      await admin.run('quota set --instances 7 --ram 4096 demo')
      expect(await admin.json('quota show demo')).toMatchObject({
        instances: 7,
        ram: 4096,
        cores: 20,
      })
      const limits = await demo.json<readonly Row[]>('limits show --absolute')
      expect(named(limits, 'maxTotalInstances')?.['Value']).toBe(7)
      await admin.run('flavor delete cli-flavor')
    })
  })

describe.skipIf(why !== undefined || !isFullRun).concurrent('every other command', () => {
  test('tokens, extensions and hypervisors', async () => {
    expect(await admin.json('token issue')).toMatchObject({
      id: expect.stringMatching(/^\S{20,}$/) as string,
    })
    const extensions = await admin.json<readonly Row[]>('extension list --compute')
    expect(column(extensions, 'Alias')).toContain('os-instance-actions')
    const hypervisors = await admin.json<readonly Row[]>('hypervisor list')
    expect(new Set(column(hypervisors, 'Hypervisor Hostname'))).toEqual(
      new Set(cloud.hosts.map(({ name }) => name)),
    )
    expect(column(hypervisors, 'State')).toEqual(hypervisors.map(() => 'up'))
  })

  test('flavors and networks are listed', async () => {
    const flavors = await demo.json<readonly Row[]>('flavor list')
    expect(named(flavors, 'm1.tiny')).toMatchObject({ ID: '1', RAM: 128, Disk: 1, VCPUs: 1 })
    const networks = await demo.json<readonly Row[]>('network list')
    expect(named(networks, 'private')).toMatchObject({ ID: cloud.catalog.network })
  })

  test('an image is tagged, switched off and on, found, and imported', async () => {
    await demo.run(`image create ${IMAGE} --tag blue --file ${files.userData} cli-image`)
    await demo.run('image set --property os_distro=debian --min-ram 64 cli-image')
    await demo.run('image unset --property os_distro --tag blue cli-image')
    expect(await demo.json('image show cli-image')).toMatchObject({
      min_ram: 64,
      tags: [],
      properties: expect.not.objectContaining({ os_distro: 'debian' }),
    })
    await demo.run('image set --deactivate cli-image')
    const off = await demo.json<readonly Row[]>('image list --status deactivated')
    expect(column(off, 'Name')).toEqual(['cli-image'])
    await demo.run('image set --activate cli-image')
    const found = 'image list --long --shared --property hypervisor_type=fake'
    expect(named(await demo.json(found), 'cli-image')).toMatchObject({
      Status: 'active',
      Visibility: 'shared',
      Size: 21,
    })
    await demo.run('image set --protected cli-image')
    await expect(demo.run('image delete cli-image')).rejects.toThrow('protected')
    await demo.run('image set --unprotected --community cli-image')
    expect(await demo.json('image show cli-image')).toMatchObject({ visibility: 'community' })
    await demo.run('image delete cli-image')

    await demo.run(`image create ${IMAGE} --import --file ${files.userData} cli-imported`)
    const imported = await waitFor(
      'the import to end',
      async () => {
        const row = named(await demo.json('image list'), 'cli-imported')
        return row?.['Status'] === 'active' ? row : undefined
      },
      IMPORTED_LIMIT_MS,
    )
    await demo.run(`image delete ${String(imported['ID'])}`)
  })

  test('a key pair is imported, listed, shown and deleted', async () => {
    const created = await demo.json(`keypair create --public-key ${files.key} cli-other`)
    expect(created).toMatchObject({ name: 'cli-other', fingerprint: FINGERPRINT, type: 'ssh' })
    expect(named(await demo.json('keypair list'), 'cli-other')).toMatchObject({
      Fingerprint: FINGERPRINT,
    })
    expect((await demo.run('keypair show --public-key cli-other')).trim()).toBe(PUBLIC_KEY)
    await demo.run('keypair delete cli-other')
    expect(named(await demo.json('keypair list'), 'cli-other')).toBeUndefined()
  })

  test("a plain server is booted, and an operator lists every project's", async () => {
    const created = await demo.json(`server create ${SERVER} cli-2`)
    expect(created).toMatchObject({
      status: 'ACTIVE',
      key_name: null,
      config_drive: '',
      properties: {},
    })
    const all = await admin.json<readonly Row[]>('server list --all-projects --long')
    expect(cloud.hosts.map(({ name }) => name)).toContain(named(all, 'cli-2')?.['Host'])
    const shown = await demo.json('--os-compute-api-version 2.92 server show cli-2')
    expect(shown).toMatchObject({ locked: false, tags: [], server_groups: [] })
    await demo.run('server delete --wait cli-2')
  })
})
