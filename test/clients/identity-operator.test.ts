import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'

type Row = Readonly<Record<string, unknown>>

const why = whyNoOpenstack()
const PASSWORD = 'eight-words'

let cloud: Cloud
let admin: OpenstackCli
let endpoint: string

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
  ;[endpoint = ''] = cloud.endpoints
  admin = new OpenstackCli(endpoint, cloud.foundation.accounts.admin)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const column = (rows: readonly Row[], name: string) => rows.map((row) => row[name])

describe.skipIf(why !== undefined)(`an operator with openstack (${why ?? 'installed'})`, () => {
  test('gives a new user a project to work in, and takes it back', async () => {
    const project = await admin.json('project create --description Research --tag new lab')
    expect(project).toMatchObject({ name: 'lab', domain_id: 'default', tags: ['new'] })
    await admin.run(`user create --project lab --password ${PASSWORD} lea`)
    await admin.run('role add --user lea --project lab member')
    expect(await admin.json('role assignment list --user lea --names')).toMatchObject([
      { Role: 'member', User: 'lea@Default', Project: 'lab@Default', Inherited: false },
    ])

    const lea = new OpenstackCli(endpoint, { user: 'lea', password: PASSWORD, project: 'lab' })
    const server = await lea.json(
      'server create --image tiny --flavor m1.tiny --network private --wait lab-1',
    )
    expect(server).toMatchObject({ status: 'ACTIVE', project_id: project['id'] })

    await admin.run('role remove --user lea --project lab member')
    await expect(lea.run('server list')).rejects.toThrow('HTTP 401')
    await admin.run('user delete lea')
    await admin.run('project delete lab')
    // What a deleted project owned stays, for an administrator to see and delete.
    const left = await admin.json<Row[]>('server list --all-projects --name lab-1')
    expect(column(left, 'Status')).toEqual(['ACTIVE'])
    await admin.run(`server delete --wait ${String(server['id'])}`)
    expect(await admin.json('server list --all-projects --name lab-1')).toEqual([])
  })

  test.runIf(isFullRun)('runs domains, groups, roles and nested projects', async () => {
    await admin.run('domain create --description Two acme')
    await admin.run('project create --domain acme web')
    await admin.run('project create --domain acme --parent web --property cost=4711 shop')
    expect(await admin.json('project show --domain acme shop --parents')).toMatchObject({
      name: 'shop',
      cost: '4711',
    })
    await admin.run('project set --domain acme --name store --tag a shop')
    expect(column(await admin.json('project list --domain acme'), 'Name')).toEqual(
      expect.arrayContaining(['web', 'store']),
    )
    await admin.run(`user create --domain acme --email a@b.test --password ${PASSWORD} max`)
    await admin.run('user set --domain acme --description Boss max')
    expect(await admin.json('user show --domain acme max')).toMatchObject({ description: 'Boss' })
    await admin.run('group create --domain acme crew')
    await admin.run('group add user --group-domain acme --user-domain acme crew max')
    expect(
      await admin.run('group contains user --group-domain acme --user-domain acme crew max'),
    ).toContain('max in group crew')
    expect(column(await admin.json('group list --domain acme'), 'Name')).toEqual(['crew'])
    expect(column(await admin.json('user list --domain acme --group crew'), 'Name')).toEqual([
      'max',
    ])

    await admin.run('role create auditor')
    await admin.run('implied role create --implied-role reader auditor')
    expect(column(await admin.json('implied role list'), 'Prior Role Name')).toContain('auditor')
    await admin.run('role add --group crew --group-domain acme --domain acme --inherited auditor')
    const effective = await admin.json<Row[]>(
      'role assignment list --user max --user-domain acme --effective --names',
    )
    expect(new Set(column(effective, 'Project'))).toEqual(new Set(['store@acme', 'web@acme']))
    expect(new Set(column(effective, 'Role'))).toEqual(new Set(['auditor', 'reader']))
    await admin.run('role add --user max --user-domain acme --system all reader')
    await admin.run('role remove --user max --user-domain acme --system all reader')
    await admin.run('implied role delete --implied-role reader auditor')
    await admin.run('role delete auditor')
    await admin.run('group remove user --group-domain acme --user-domain acme crew max')
    await admin.run('group delete --domain acme crew')
    await admin.run('user delete --domain acme max')
    await admin.run('project delete --domain acme store')
    await expect(admin.run('domain delete acme')).rejects.toThrow('disable it first')
    await admin.run('domain set --disable acme')
    await admin.run('domain delete acme')
  })

  test.runIf(isFullRun)('registers services, and uses application credentials', async () => {
    await admin.run('region create --description Far far')
    await admin.run('service create --name swift object-store')
    await admin.run('endpoint create --region far swift public http://swift.test/$(project_id)s')
    expect(column(await admin.json('catalog list'), 'Type')).toContain('object-store')
    const [entry] = await admin.json<Row[]>('endpoint list --service swift')
    await admin.run(`endpoint set --url http://other.test/ ${String(entry?.['ID'])}`)
    await admin.run('service delete swift')
    await admin.run('region delete far')

    const rule = '[{"service":"compute","method":"GET","path":"/v2.1/servers"}]'
    const made = await admin.json(
      `application credential create --role reader --access-rules ${rule} watch`,
    )
    expect(made).toMatchObject({ name: 'watch', unrestricted: false })
    expect(await admin.json<Row[]>('access rule list')).toMatchObject([
      { Service: 'compute', Method: 'GET', Path: '/v2.1/servers' },
    ])
    await admin.run('application credential delete watch')
    const [access] = await admin.json<Row[]>('access rule list')
    await admin.run(`access rule delete ${String(access?.['ID'])}`)
    expect(await admin.json('access rule list')).toEqual([])
  })

  test.runIf(isFullRun)('and users change their passwords and revoke their tokens', async () => {
    await admin.run(`user create --password ${PASSWORD} --project demo nan`)
    await admin.run('role add --user nan --project demo member')
    const account = (password: string) => ({ user: 'nan', password, project: 'demo' })
    const nan = new OpenstackCli(endpoint, account(PASSWORD))
    const { id } = await nan.json('token issue')
    await admin.run(`token revoke ${String(id)}`)
    await nan.run(`user password set --original-password ${PASSWORD} --password next-words`)
    await expect(nan.run('token issue')).rejects.toThrow('HTTP 401')
    await new OpenstackCli(endpoint, account('next-words')).run('token issue')
    await admin.run('user delete nan')
  })
})
