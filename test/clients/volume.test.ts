import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { OpenstackCli, whyNoOpenstack } from '#test/env/openstack-cli.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

const why = whyNoOpenstack()
/** Two dozen commands one after the other. */
const LIMIT_MS = 300_000

let cloud: Cloud
let admin: OpenstackCli
let demo: OpenstackCli

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
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
    for (const command of ['volume backup list', 'volume qos list', 'consistency group list'])
      expect(await admin.json<Rows>(command)).toEqual([])
  })
})
