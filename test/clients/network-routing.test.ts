import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { reportOvn } from '#test/env/network-objects.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'

type Row = Readonly<Record<string, unknown>>

const why = isFullRun ? whyNoOpenstack() : 'in a full run only'

let cloud: Cloud
let admin: OpenstackCli
let demo: OpenstackCli

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1, processesPerCell: 1 })
  const [endpoint = ''] = cloud.endpoints
  admin = new OpenstackCli(endpoint, cloud.foundation.accounts.admin)
  demo = new OpenstackCli(endpoint, cloud.foundation.accounts.demo)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const column = (rows: readonly Row[], name: string) => rows.map((row) => row[name])

// The API alone: what packets do is tested with the engine itself.
describe.skipIf(why !== undefined)(`routers with openstack (${why ?? 'installed'})`, () => {
  test('nothing is made while no cell could route', async () => {
    await expect(demo.run('router create r')).rejects.toThrow('network engine OVN')
    await expect(admin.run('network create --external public')).rejects.toThrow(
      'network engine OVN',
    )
    expect(await demo.json('router list')).toEqual([])

    await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
    await reportOvn(db)
    const names = column(await demo.json('extension list --network'), 'Alias')
    expect(names).toEqual(expect.arrayContaining(['router', 'external-net', 'extraroute']))
  })

  test('a server is reached from outside by a router and a floating IP', async () => {
    const wire = '--provider-network-type flat --provider-physical-network physnet1'
    await admin.run(`network create --external --default ${wire} public`)
    const range = '--subnet-range 203.0.113.0/24 --no-dhcp --gateway 203.0.113.1'
    await admin.run(`subnet create --network public ${range} public-4`)
    await admin.run(
      'subnet pool create --share --default --pool-prefix 10.200.0.0/16 --default-prefix-length 24 pool',
    )
    await demo.run('network create inner')
    await demo.run('subnet create --network inner --use-default-subnet-pool inner-4')
    expect(await demo.json('subnet show inner-4')).toMatchObject({ cidr: '10.200.0.0/24' })

    await demo.run('router create --external-gateway public edge')
    await demo.run('router add subnet edge inner-4')
    await demo.run('router add route --route destination=192.168.0.0/24,gateway=10.200.0.9 edge')
    const shown = await demo.json<Row>('router show edge')
    expect(shown).toMatchObject({
      external_gateway_info: { enable_snat: true },
      interfaces_info: [{ ip_address: '10.200.0.1' }],
      routes: [{ destination: '192.168.0.0/24', nexthop: '10.200.0.9' }],
    })

    await demo.run('server create --image tiny --flavor m1.tiny --network inner --wait first')
    const made = await demo.json<Row>('floating ip create public')
    const address = String(made['floating_ip_address'])
    await demo.run(`server add floating ip first ${address}`)
    const { addresses } = await demo.json<{ addresses: { inner: readonly string[] } }>(
      'server show first',
    )
    expect(addresses.inner).toEqual([expect.stringMatching(/^10\.200\.0\./), address])
    expect(await demo.json('floating ip list')).toMatchObject([
      { 'Floating IP Address': address, 'Fixed IP Address': addresses.inner[0] },
    ])
    await expect(demo.run('router remove subnet edge inner-4')).rejects.toThrow(
      'required by one or more',
    )
    await expect(demo.run('router delete edge')).rejects.toThrow('has ports still attached')
    await demo.run(`server remove floating ip first ${address}`)
    expect(await demo.json(`floating ip show ${address}`)).toMatchObject({
      status: 'DOWN',
      port_id: null,
    })
    await demo.run(`floating ip set --port ${await portOf('first')} ${address}`)
    await demo.run(`floating ip unset --port ${address}`)
  })

  test('ports of a floating IP are forwarded', async () => {
    const made = await demo.json<Row>('floating ip create public')
    const ip = String(made['floating_ip_address'])
    const port = await portOf('first')
    const forward = 'floating ip port forwarding'
    const { addresses } = await demo.json<{ addresses: { inner: readonly string[] } }>(
      'server show first',
    )
    const inside = `--internal-ip-address ${addresses.inner[0]} --port ${port}`
    const ports = '--internal-protocol-port 22 --external-protocol-port 2222 --protocol tcp'
    const one = await demo.json<Row>(`${forward} create ${inside} ${ports} --description ssh ${ip}`)
    expect(one).toMatchObject({ internal_port: 22, external_port: 2222, description: 'ssh' })
    const id = String(one['id'])
    const web = '--internal-protocol-port 80 --external-protocol-port 80 --protocol tcp'
    await demo.run(`${forward} create ${inside} ${web} ${ip}`)

    const listed = await demo.json<readonly Row[]>(`${forward} list ${ip}`)
    expect(listed).toHaveLength(2)
    expect(listed).toContainEqual(
      expect.objectContaining({
        ID: id,
        'Internal IP Address': addresses.inner[0],
        'External Port': 2222,
      }),
    )
    await demo.run(`${forward} set --external-protocol-port 2223 ${ip} ${id}`)
    expect(await demo.json(`${forward} show ${ip} ${id}`)).toMatchObject({ external_port: 2223 })
    await expect(demo.run(`floating ip delete ${ip}`)).rejects.toThrow('in use by Port Forwarding')
    for (const each of column(await demo.json(`${forward} list ${ip}`), 'ID'))
      await demo.run(`${forward} delete ${ip} ${String(each)}`)
    await demo.run(`floating ip delete ${ip}`)
  })

  test('a port has pairs, options and a name, and a network is counted', async () => {
    const pair = '--allowed-address ip-address=10.200.0.77'
    const option = '--extra-dhcp-option name=mtu,value=1400'
    await demo.run(`port create --network inner ${pair} ${option} --dns-name web port-1`)
    expect(await demo.json('port show port-1')).toMatchObject({
      allowed_address_pairs: [{ ip_address: '10.200.0.77' }],
      extra_dhcp_opts: [{ opt_name: 'mtu', opt_value: '1400' }],
      dns_name: 'web',
      dns_assignment: [{ hostname: 'web' }],
    })
    await demo.run('port delete port-1')
    const rows = await admin.json<readonly Row[]>('ip availability list')
    const inner = rows.find((row) => row['Network Name'] === 'inner')
    expect(inner).toMatchObject({ 'Used IPs': 2, 'Total IPs': 253 })
  })

  test('everything is taken away, and a topology is allocated in one command', async () => {
    await demo.run('server delete --wait first')
    for (const ip of column(await demo.json('floating ip list'), 'ID'))
      await demo.run(`floating ip delete ${String(ip)}`)
    await demo.run('router remove route --route destination=192.168.0.0/24,gateway=10.200.0.9 edge')
    await demo.run('router remove subnet edge inner-4')
    await demo.run('router unset --external-gateway edge')
    await demo.run('router delete edge')
    await demo.run('network delete inner')
    await expect(admin.run('subnet pool delete pool')).resolves.toBe('')

    await admin.run(
      'subnet pool create --share --default --pool-prefix 10.201.0.0/16 --default-prefix-length 24 pool',
    )
    await demo.run('network auto allocated topology create')
    expect(await demo.json('router list')).toMatchObject([{ Name: 'auto_allocated_router' }])
    await demo.run('network auto allocated topology delete')
    expect(await demo.json('router list')).toEqual([])
    expect(await demo.json('address scope list')).toEqual([])
  })
})

async function portOf(server: string): Promise<string> {
  const [port] = await demo.json<readonly Row[]>(`port list --server ${server}`)
  return String(port?.['ID'])
}
