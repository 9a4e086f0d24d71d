import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyBoot } from '#deploy/nested/verify-boot.ts'
import { createServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

let cloud: Cloud
let admin: WeirCommand

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, processesPerCell: 1, hostsPerCell: 1 })
  admin = new WeirCommand(cloud, 'admin')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

describe('the weir command', () => {
  test('shows cells and decides about them', async () => {
    const cells = await admin.json<Rows>('cell list')
    expect(cells.map(({ name }) => name)).toEqual(['north', 'south'])
    expect(await admin.run('cell list -o name')).toEqual({
      code: 0,
      out: 'north\nsouth\n',
      err: '',
    })
    const [heads, north] = (await admin.run('cell list')).out.split('\n')
    expect(heads).toMatch(/^NAME +STATE +HOSTS/)
    expect(north).toMatch(/^north +up +1\/1/)

    const disabled = await admin.json('cell disable south --reason works')
    expect(disabled).toMatchObject({ name: 'south', is_enabled: false, disabled_reason: 'works' })
    expect(await admin.json('cell enable south')).toMatchObject({ disabled_reason: null })
    expect(await admin.json('cell update south --weight 2')).toMatchObject({ weight: 2 })
    const zoned = await admin.json('cell update south --transport-zone east')
    expect(zoned).toMatchObject({ weight: 2, transport_zone: 'east' })
    expect(await admin.json('cell update south --no-transport-zone')).toMatchObject({
      transport_zone: null,
    })
  })

  test('builds a server in a cell to see whether it works, and leaves nothing', async () => {
    const session = { endpoint: cloud.endpoints[0]!, token: await cloud.login('admin') }
    expect(await verifyBoot(session, 'north')).toEqual([
      { check: 'host', result: 'ok', detail: 'north-1 takes m1.tiny with tiny' },
      { check: 'boot', result: 'ok', detail: expect.stringContaining('active after') },
      { check: 'delete', result: 'ok', detail: expect.stringContaining('gone after') },
    ])
    expect((await admin.run('host cordon north-1')).code).toBe(0)
    expect(await verifyBoot(session, 'north')).toMatchObject([{ check: 'host', result: 'failed' }])
    expect((await admin.run('host uncordon north-1')).code).toBe(0)
  })

  test('shows hosts by their cell and cordons them by name', async () => {
    const hosts = await admin.json<Rows>('host list --cell north')
    expect(hosts).toMatchObject([{ name: 'north-1', driver: 'fake', is_up: true }])
    const shown = (await admin.run('host show north-1')).out
    expect(shown).toMatch(/^CELL +north$/m)
    expect(shown).toMatch(/^VCPUS +0\/\d+ x\d+$/m)
    expect(shown).toContain('SERVERS\nNo servers.\n\nRECENT EVENTS\n')
    expect(await admin.json('cell show north')).toMatchObject({
      name: 'north',
      hosts: [{ name: 'north-1' }],
      recent_events: expect.any(Array),
    })
    expect((await admin.run('operation list')).out).toBe('No operations.\n')
    expect((await admin.run('usage')).out).toMatch(/^(No servers ran\.|PROJECT +SERVERS +HOURS)/)
    expect((await admin.run('host list -o csv')).out).toMatch(
      /^id,name,cell_id,[^]*\r\n[^,]+,north-1,/,
    )
    expect(await admin.json('host cordon south-1 --reason fan')).toMatchObject({
      is_cordoned: true,
      cordon_reason: 'fan',
    })
    expect(await admin.json('host uncordon south-1')).toMatchObject({ is_cordoned: false })
    expect(await admin.json<Rows>('driver list')).toMatchObject([{ name: 'fake', hosts: 2 }])
    expect(await admin.json('top')).toMatchObject({
      cells: [{ name: 'north' }, { name: 'south' }],
      hosts: [expect.objectContaining({ is_up: true }), expect.anything()],
    })
  })

  test('shows the place of a server by name, and the reasons', async () => {
    const demo = cloud.as('demo')
    const id = await createServer(cloud, demo, { name: 'named.once' })
    await untilStatus(demo, id, 'ACTIVE')

    const place = await admin.json('server where named.once')
    expect(place).toMatchObject({ server_id: id, name: 'named.once', status: 'ACTIVE' })
    expect(place['host']).toBe(`${String(place['cell'])}-1`)
    const trace = await admin.json('why named.once')
    expect(trace).toMatchObject({ server_id: id, host: place['host'] })
    expect(await admin.json(`server trace ${id}`)).toEqual(trace)
    const { out } = await admin.run(`why ${id}`)
    expect(out).toContain(`is active in cell ${String(place['cell'])} on host`)
    expect(out).toMatch(/^Attempt 1, hosts in cell \w+: of 1 considered \S+ was chosen/m)
    expect(out).toMatch(/^total +\S+ +\d+ +success$/m)
    expect(await admin.json('server verify named.once')).toMatchObject({
      findings: ['mapping', 'cell', 'claim', 'guest'].map((check) => ({ check, result: 'ok' })),
    })
    const database = await createConnection({ uri: cloud.foundation.databaseUrl })
    await database.execute("update server_index set vm_state = 'error' where server_id = ?", [id])
    await database.end()
    const wrong = await admin.run('server verify named.once --fix --dry-run')
    expect(wrong).toMatchObject({
      code: 1,
      out: expect.stringContaining('shown is attempt 1, error'),
    })
    expect((await admin.run('server verify named.once')).code).toBe(1)
    expect((await admin.run('server verify named.once --fix')).code).toBe(0)
    expect(await admin.json<Rows>('verify')).toContainEqual(
      expect.objectContaining({ check: `host ${String(place['host'])}`, result: 'ok' }),
    )
    const copies = await admin.json<Rows>('image copies tiny')
    expect(copies).toContainEqual(expect.objectContaining({ host: place['host'], name: null }))
    expect((await admin.run('image copies none')).code).toBe(3)
    expect(await admin.json<Rows>(`server events ${id}`)).toMatchObject([{ action: 'create' }])
  })

  test('lists servers of all projects, by cell, host, status and project', async () => {
    const demo = cloud.as('demo')
    const id = await createServer(cloud, demo, { name: 'listed', availability_zone: 'south' })
    await untilStatus(demo, id, 'ACTIVE')

    const listed = await admin.json<Rows>('server list --cell south --host south-1 --status ACTIVE')
    expect(listed).toContainEqual(
      expect.objectContaining({ id, name: 'listed', cell: 'south', host: 'south-1', fault: null }),
    )
    const [{ project_id: project } = {}] = listed
    const ids = async (options: string) =>
      (await admin.run(`server list -o name ${options}`)).out.split('\n')
    expect(await ids(`--project ${String(project)}`)).toContain(id)
    expect(await ids('-n 1')).toEqual([id, ''])
    expect(await ids('--cell north')).not.toContain(id)
    expect(await ids('--status SHUTOFF')).not.toContain(id)
    const [heads, ...rows] = (await admin.run('usage --by project,cell,flavor -o csv')).out.split(
      '\r\n',
    )
    expect(heads).toBe(
      'project_id,project,cell_id,cell,flavor,servers,server_hours,vcpu_hours,memory_mb_hours,disk_gb_hours,volume_gb_hours,image_gb_hours,floating_ip_hours,cost',
    )
    expect(rows.some((row) => row.includes(',south,m1.tiny,'))).toBe(true)
    expect(await admin.json('usage --by cell')).toMatchObject({
      usages: expect.arrayContaining([expect.objectContaining({ cell: 'south', cost: null })]),
    })
    expect(await ids('--project demo')).toContain(id)
    expect(await ids('--project demo --status SHUTOFF --host south-2')).toEqual([''])
    expect(await admin.run('server list --project unknown')).toMatchObject({
      code: 3,
      err: expect.stringContaining('id or name unknown. See: openstack project list'),
    })
    expect(await admin.run('server list --host south-9')).toMatchObject({
      code: 3,
      err: expect.stringContaining('There is no host south-9. See: ./weir host list'),
    })
    expect((await admin.run('server list --cell west')).code).toBe(3)
    expect((await admin.run('server list --status zzz')).code).toBe(2)
    const { out } = await admin.run('server list')
    expect(out).toMatch(
      new RegExp(`^listed +ACTIVE +- +south +south-1 +m1.tiny +\\d+s +${id}$`, 'm'),
    )
    expect(await admin.json('host show south-1')).toMatchObject({
      servers_on_host: expect.arrayContaining([expect.objectContaining({ id })]),
    })
  })

  test('shows the usage and the remaining amount of each quota of a project, by name or id', async () => {
    const id = await cloud.projectId('demo')
    const shown = await admin.json<{ readonly resources: Rows }>('quota show demo')
    expect(shown).toMatchObject({ project_id: id, project: 'demo' })
    expect(shown.resources).toContainEqual({
      ...{ service: 'compute', resource: 'ram', unit: 'MiB' },
      ...{ used: expect.any(Number), limit: 51_200, left: expect.any(Number) },
    })
    expect(await admin.json(`quota show ${id}`)).toEqual(shown)
    const { out } = await admin.run('quota show demo')
    expect(out).toMatch(/^PROJECT +demo\nID +\w+\n\nQUOTAS\nRESOURCE +USED +LIMIT +LEFT +UNIT\n/)
    expect(out).toMatch(/^instances +\d+ +\d+ +\d+ +-$/m)
    expect(out).toMatch(/^port +\d+ +\d+ +\d+ +-$/m)
    expect((await admin.run('quota show demo -o name')).out).toMatch(/^demo\n$/)
  })

  test('explains what keeps one address from another', async () => {
    const { out } = await admin.run('network why 198.51.100.7 198.51.100.8')
    expect(out).toMatch(
      /^FROM +198\.51\.100\.7 \(outside\)\nTO +198\.51\.100\.8 \(outside\)\nREACHES +no\n/,
    )
    expect(out).toMatch(/^route +no +Neither address is of a port of this cloud\.$/m)
    const path = 'network why 198.51.100.7 198.51.100.8'
    expect(await admin.json(`${path} --protocol tcp --port 80`)).toMatchObject({ reaches: false })
    expect(await admin.run(`${path} --protocol tcp --port 99999`)).toMatchObject({ code: 2 })
  })

  test('joins all that is known of a request', async () => {
    const demo = cloud.as('demo')
    const id = await createServer(cloud, demo, { name: 'requested' })
    await untilStatus(demo, id, 'ACTIVE')
    const [action] = await admin.json<Rows>(`server events ${id}`)
    const request = String(action?.['request_id'])

    const found = () => admin.json<Readonly<Record<string, Rows>>>(`request show ${request}`)
    await expect.poll(async () => (await found())['audit']).toHaveLength(1)
    expect(await found()).toMatchObject({
      audit: [{ action: 'compute:createServer', status: 202 }],
      actions: expect.arrayContaining([
        expect.objectContaining({ server_id: id, result: 'Success' }),
      ]),
      events: expect.arrayContaining([
        expect.objectContaining({ server_id: id, server_name: 'requested', action: 'create' }),
      ]),
      decisions: [
        expect.objectContaining({ server_id: id }),
        expect.objectContaining({ server_id: id }),
      ],
    })
    const { out } = await admin.run(`request show ${request}`)
    expect(out).toMatch(/^AUDIT\n[\s\S]+^ACTIONS\n[\s\S]+^EVENTS\n[\s\S]+^DECISION ABOUT /m)
    expect((await admin.run('request show req-none')).code).toBe(3)
    expect((await admin.run('request show a/b')).code).toBe(2)
  })

  test('shows where a server would be placed, and which filter refuses all hosts', async () => {
    const like = '--flavor m1.tiny --image tiny'
    const placed = await admin.json(`why ${like} --zone north`)
    expect(placed).toMatchObject({ cell: 'north', host: 'north-1' })
    const { out } = await admin.run(`why ${like} --zone north`)
    expect(out).toMatch(/^The server would be placed on host north-1 in cell north now\.$/m)
    expect(out).toMatch(/^ {2}AvailabilityZoneFilter +1 +south: has no zone/m)
    expect(await admin.run('why --flavor m1.tiny')).toMatchObject({ code: 2 })
  })

  test('lists events and follows new ones', async () => {
    const demo = cloud.as('demo')
    const id = await createServer(cloud, demo, { name: 'watched' })
    const line = await admin.follow(`events -f --server ${id} -o json`, (each) =>
      each.includes('"state":"active"'),
    )

    expect(JSON.parse(line)).toMatchObject({ server_id: id, type: 'server.state' })
    const { out } = await admin.run(`events --server watched --type server.state`)
    expect(out).toMatch(new RegExp(`server\\.state +\\w+ +watched ${id} \\S+ +active`))
    expect(await admin.json<Rows>('events -n 1')).toHaveLength(1)
    const onHost = await admin.json<Rows>('events --host north-1 --since 1h')
    expect(new Set(onHost.map(({ host }) => host))).toEqual(new Set(['north-1']))
    expect(onHost).toContainEqual(expect.objectContaining({ cell: 'north' }))
    expect((await admin.run('events --since 2099-01-01T00:00:00Z')).out).toBe('No events.\n')
    expect(await admin.run('events --since yesterday')).toMatchObject({ code: 2 })
  })

  test('drains a host, waits for it, and lists the remaining servers at the time limit', async () => {
    const demo = cloud.as('demo')
    const zone = { name: 'stays', availability_zone: 'south' }
    const id = await createServer(cloud, demo, zone)
    await untilStatus(demo, id, 'ACTIVE')

    const remaining = await admin.json<Rows>('host drain south-1 --dry-run')
    expect(remaining).toContainEqual(
      expect.objectContaining({ id, name: 'stays', status: 'ACTIVE' }),
    )
    const waited = await admin.run('host drain south-1 --no-move --reason disks --wait --timeout 1')
    expect(waited).toMatchObject({ code: 5 })
    expect(waited.err).toMatch(/host-drain south-1: \d+ remaining/)
    const [operation] = await admin.json<Rows>('operation list --state running -n 50')
    expect(operation).toMatchObject({ kind: 'host-drain', subject: 'south-1' })
    const cancelled = await admin.json(`operation cancel ${String(operation?.['id'])}`)
    expect(cancelled).toMatchObject({ state: 'cancelled' })
    expect(await admin.json('host uncordon south-1')).toMatchObject({ is_cordoned: false })
  })

  test('drains a whole cell repeatedly, and records the user', async () => {
    expect((await admin.run('cell drain north --dry-run')).out).toContain('north-1')
    const [begun] = await admin.json<Rows>('cell drain north --reason racks')
    expect(begun).toMatchObject({ kind: 'host-drain', subject: 'north-1' })
    expect(await admin.json('cell show north')).toMatchObject({ disabled_reason: 'racks' })
    const [again] = await admin.json<Rows>('cell drain north')
    expect(again?.['subject']).toBe('north-1')
    await admin.json('host uncordon north-1')
    await admin.json('cell enable north')

    const records = await admin.json<Rows>('audit list --action federation:drainHost -n 1')
    expect(records).toMatchObject([{ outcome: 'success', user_name: 'admin' }])
    expect((await admin.run('audit list --outcome success')).out).toMatch(/^AT +USER +ACTION/)
  })

  test('creates join tokens, shows each once, and revokes them', async () => {
    const { out, err } = await admin.run('cell token create west --expires 30m')
    expect(out).toMatch(/^WEIR_JOIN_TOKEN=weir1\S+ \.\/weir cell join --gateway https?:\S+\n$/)
    expect(err).toContain('on the machine of the new cell')
    const [token] = await admin.json<Rows>('cell token list')
    expect(token).toMatchObject({ cell: 'west', host: null, used_at: null })
    expect((await admin.run('cell token list')).out).toMatch(/^west +- +open/m)

    expect(await admin.run(`cell token revoke ${String(token?.['id'])}`)).toMatchObject({ code: 0 })
    expect(await admin.json<Rows>('cell token list')).toEqual([])
    expect(await admin.run('cell token create west --expires soon')).toMatchObject({ code: 2 })
    expect(await admin.run('cell token create west --host west-1')).toMatchObject({ code: 3 })
    const ofHost = await admin.run('cell token create north --host north-7')
    expect(ofHost.out).toMatch(
      /^WEIR_JOIN_TOKEN=weir1\S+ \.\/weir host join --gateway https?:\S+\n$/,
    )
  })

  test('lists the intents for unreachable cells, and removes no cell without --yes', async () => {
    expect(await admin.json<Rows>('intent list --cell north')).toEqual([])
    expect(await admin.run('intent cancel none')).toMatchObject({ code: 3 })

    const leaving = await admin.run('cell leave south --dry-run')
    expect(leaving.out + leaving.err).toMatch(/remove cell south \(hosts: 1, servers: \d+\)/)
    expect(await admin.run('cell lost south --dry-run --stopped off')).toMatchObject({
      code: 1,
      err: expect.stringContaining('refuses it while the cell is reachable'),
    })
    const { code, err } = await admin.run('cell leave south')
    expect(code).toBe(2)
    expect(err).toContain('./weir cell leave south --yes')
    const forgotten = await admin.run('cell leave south --forget')
    expect(forgotten.err).toContain('./weir cell leave south --forget --yes')
  })

  test('is a program that writes results alone to standard output', async () => {
    const { stdout, stderr } = await admin.spawn('cell list -o json')
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'north' }, { name: 'south' }])
    expect(stderr).toBe('')

    await expect(admin.spawn('cell show west')).rejects.toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'weir: There is no cell west. There are: north, south.\n',
    })
  })

  test.each([
    ['cell show west', 3, 'There is no cell west. There are: north, south.'],
    ['host show west-1', 3, 'There is no host west-1. See: ./weir host list'],
    [
      'quota show none',
      3,
      'There is no project with the id or name none. See: openstack project list',
    ],
    ['why nobody', 3, 'There is no server nobody.'],
    [
      'why nobody --flavor m1.tiny',
      2,
      '--flavor describes a new server, but nobody names an existing one.',
    ],
    ['cell list --os-cloud six', 3, 'There is no cloud six. No clouds.yaml was found.'],
    [
      'cell update north',
      2,
      'Give --weight, --transport-zone, --label, --taint or --recover-after.',
    ],
    ['cell list -o xml', 2, 'Allowed choices are table, wide, json, yaml, csv, name'],
    ['host lst', 2, 'Did you mean list?'],
    ['cell list --os-region-name Mars', 3, 'no public endpoint of federation in region Mars'],
  ])('%s ends with %i and says what to do', async (line, code, message) => {
    const outcome = await admin.run(line)

    expect(outcome).toMatchObject({ code, out: '' })
    expect(outcome.err).toContain(message)
  })

  test("names the account to use to a user without an operator's rights", async () => {
    const { code, err } = await new WeirCommand(cloud, 'demo').run('cell list')

    expect(code).toBe(1)
    expect(err).toContain('--os-cloud weir-admin')
  })

  test('writes a debug bundle without overwriting a file', async () => {
    const file = join(cloud.foundation.directory, 'bundle.tar.gz')
    const { code, out } = await admin.run(`debug bundle --file ${file}`)
    expect({ code, out }).toEqual({ code: 0, out: `${file}\n` })

    const { stdout } = await promisify(execFile)('tar', [
      '-xOzf',
      file,
      'weir-debug/cloud/cells.json',
    ])
    expect(JSON.parse(stdout)).toMatchObject({ cells: [{ name: 'north' }, { name: 'south' }] })
    expect(await admin.run(`debug bundle --file ${file}`)).toMatchObject({ code: 1 })
  })
})
