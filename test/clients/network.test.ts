import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'

type Row = Readonly<Record<string, unknown>>

const why = isFullRun ? whyNoOpenstack() : 'in a full run only'

let cloud: Cloud
let admin: OpenstackCli
let demo: OpenstackCli

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
  const [endpoint = ''] = cloud.endpoints
  admin = new OpenstackCli(endpoint, cloud.foundation.accounts.admin)
  demo = new OpenstackCli(endpoint, cloud.foundation.accounts.demo)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const column = (rows: readonly Row[], name: string) => rows.map((row) => row[name])

describe.skipIf(why !== undefined)(`networks with openstack (${why ?? 'installed'})`, () => {
  test('every attribute can be set and is shown', async () => {
    await demo.run('network create net-2')
    await demo.run('network set --name net-3 --description Other --disable --tag a --tag b net-2')
    await demo.run('network unset --tag a net-3')
    expect(await demo.json('network show net-3')).toMatchObject({
      description: 'Other',
      admin_state_up: false,
      tags: ['b'],
    })
    await expect(demo.run('network set --share net-3')).rejects.toThrow('Only an administrator')
    await admin.run('network set --share --mtu 1400 net-3')
    expect(await demo.json('network show net-3')).toMatchObject({ shared: true, mtu: 1400 })

    const pool = '--allocation-pool start=192.0.2.10,end=192.0.2.19 --gateway none --no-dhcp'
    await demo.run(`subnet create --network net-3 --subnet-range 192.0.2.0/24 ${pool} sub-3`)
    const route = '--host-route destination=198.51.100.0/24,gateway=192.0.2.1'
    await demo.run(
      `subnet set --gateway 192.0.2.1 --dhcp --dns-nameserver 192.0.2.2 ${route} sub-3`,
    )
    await demo.run('subnet unset --dns-nameserver 192.0.2.2 sub-3')
    expect(await demo.json('subnet show sub-3')).toMatchObject({
      gateway_ip: '192.0.2.1',
      enable_dhcp: true,
      dns_nameservers: [],
      host_routes: [{ destination: '198.51.100.0/24', nexthop: '192.0.2.1' }],
    })

    await demo.run('port create --network net-3 --no-security-group port-3')
    await demo.run('port set --disable --security-group default --name port-4 --tag x port-3')
    await demo.run('port set --no-security-group --disable-port-security port-4')
    expect(await demo.json('port show port-4')).toMatchObject({
      admin_state_up: false,
      port_security_enabled: false,
      security_group_ids: [],
      tags: ['x'],
    })
    await expect(demo.run('port set --qos-policy gold port-4')).rejects.toThrow(
      'nothing at this path',
    )
    await demo.run('port delete port-4')

    await demo.run('security group create other')
    await demo.run('security group set --name another --description Else --tag y other')
    const rules = await demo.json<Row[]>('security group rule list another')
    expect(column(rules, 'Direction')).toEqual(['egress', 'egress'])
    await demo.run(`security group rule delete ${String(rules[0]?.['ID'])}`)
    expect(await demo.json('security group show another')).toMatchObject({
      description: 'Else',
      tags: ['y'],
    })
    for (const command of ['security group delete another', 'network delete net-3'])
      await demo.run(command)
  })

  test('a network is shared with one project by a policy', async () => {
    await admin.run('network create apart')
    const project = String((await admin.json<Row>('project show demo'))['id'])
    const made = await admin.json<Row>(
      `network rbac create --target-project ${project} --action access_as_shared --type network apart`,
    )
    expect(made).toMatchObject({ target_project_id: project, action: 'access_as_shared' })
    expect(column(await demo.json('network list'), 'Name')).toContain('apart')
    const rows = await admin.json<Row[]>('network rbac list --long')
    expect(rows.find((row) => row['ID'] === made['id'])).toMatchObject({
      Action: 'access_as_shared',
    })
    await admin.run(`network rbac set --target-project admin ${String(made['id'])}`)
    expect(column(await demo.json('network list'), 'Name')).not.toContain('apart')
    await admin.run(`network rbac delete ${String(made['id'])}`)
    await admin.run('network delete apart')
  })

  const missing = 'nothing at this path'
  const boot = 'server create --image tiny --flavor m1.tiny --network private'
  test.each([
    ['router create r', 'network engine OVN'],
    ['floating ip create private', 'not a valid external network'],
    ['ip availability list', '403'],
    ['address scope create s', 'would have no effect'],
    ['network trunk list', missing],
    ['network qos policy list', missing],
    ['network segment list', missing],
    ['address group list', missing],
    ['network agent list', '403'],
    [`${boot} --swap 64 s`, 'Swap drive requested is larger'],
    [`${boot} --ephemeral size=1 s`, 'Ephemeral disks requested are larger'],
    [`${boot} --block-device uuid=s,source_type=snapshot s`, 'Snapshot s could not be found'],
    ['server add floating ip s 192.0.2.1', 'No FloatingIP found'],
  ])('a missing object is refused with a message: %s', async (command, words) => {
    const error = await demo.run(command).then(
      () => '',
      (refused: unknown) => String(refused),
    )
    expect(error).toContain(words)
    expect(error).not.toContain('Traceback')
  })

  test('every collection is listed', async () => {
    const agents = await admin.json<Row[]>('network agent list')
    expect(new Set(column(agents, 'Host'))).toEqual(new Set(cloud.hosts.map(({ name }) => name)))
    expect(agents[0]).toMatchObject({ Alive: true, State: true, Binary: 'weir-compute' })
    expect(await admin.json('availability zone list --network')).toEqual([
      { 'Zone Name': 'north', 'Zone Status': 'available' },
      { 'Zone Name': 'south', 'Zone Status': 'available' },
    ])
    const names = column(await demo.json('extension list --network'), 'Alias')
    expect(names).toContain('standard-attr-tag')
    expect(names).not.toContain('router')
    const auto = await demo.json(
      '--os-compute-api-version 2.37 server create --image tiny --flavor m1.tiny --nic auto --wait auto-1',
    )
    expect(auto).toMatchObject({ addresses: { private: [expect.any(String)] } })
    await demo.run('server delete --wait auto-1')
  })
})
