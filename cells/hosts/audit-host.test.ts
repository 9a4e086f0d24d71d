import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type AttachmentId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { reportSubject } from '#openapi/wire.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { findInstance } from '../db/instances.ts'
import { auditHost } from './audit-host.ts'

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('audit')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
})
afterAll(() => cell?.[Symbol.asyncDispose]())

const signal = () => AbortSignal.timeout(5_000)
const found = (id: InstanceId) => findInstance(running.cell.conductor.db, id)

test('a guest that its backend counts as failed is in error with the reason, until it does no more', async () => {
  const operation = await cell.activeServer()
  const id = operation.serverId as InstanceId
  const fault = 'The disk is gone.'
  const report = { id, powerState: 'nostate', fault } as const
  const list = vi.spyOn(host.driver, 'list').mockResolvedValue([report])

  await auditHost(running.cell, host.id)
  const failed = await found(id)
  await auditHost(running.cell, host.id)

  expect(failed).toMatchObject({ vmState: 'error', powerState: 0, fault: { details: fault } })
  expect(await found(id)).toMatchObject({ vmState: 'error', sagaId: null })
  list.mockRestore()
  await auditHost(running.cell, host.id)
  expect(await found(id)).toMatchObject({ vmState: 'active', powerState: 1, fault: null })
})

test('a guest that its host has paused because a disk has no room says so until it runs on', async () => {
  const operation = await cell.activeServer()
  const id = operation.serverId as InstanceId
  const noSpace = 'disk vdb, volume one'
  const others = (await host.driver.list(signal())).filter((guest) => guest.id !== id)
  const list = vi.spyOn(host.driver, 'list')
  const seen = (report: object) => {
    list.mockResolvedValue([...others, { id, powerState: 'paused', ...report }])
    return auditHost(running.cell, host.id)
  }
  const event = (action: string) =>
    cell.waitForFeed('action-event', ({ event: e }) => e.serverId === id && e.action === action)

  expect(await seen({ noSpace })).toBe(1)
  expect(await seen({ noSpace })).toBe(0)
  expect(await found(id)).toMatchObject({
    vmState: 'active',
    powerState: 3,
    fault: { details: noSpace },
  })
  expect(await event('pause')).toMatchObject({ event: { result: 'Success', details: noSpace } })

  await seen({ powerState: 'running' })
  expect(await found(id)).toMatchObject({ vmState: 'active', powerState: 1, fault: null })
  expect(await event('unpause')).toMatchObject({ event: { result: 'Success', details: null } })

  await seen({ noSpace })
  for (const _ of [1, 2]) await seen({ powerState: 'crashed' })
  expect(await found(id)).toMatchObject({ vmState: 'stopped', powerState: 6, fault: null })
  list.mockRestore()
})

test('a volume that a guest has released late is told to the gateways, and the host need not say it again', async () => {
  const operation = await cell.activeServer()
  const id = operation.serverId as InstanceId
  const volume = { id: newId<VolumeId>(), attachmentId: newId<AttachmentId>() }
  const guests = await host.driver.list(signal())
  const reports = guests.map((guest) =>
    guest.id === id ? { ...guest, released: [volume] } : guest,
  )
  const list = vi.spyOn(host.driver, 'list').mockResolvedValue(reports)
  const detach = vi.spyOn(host.driver.volumes!, 'detach').mockResolvedValue()

  const { attachmentId } = volume
  const released = [{ volumeId: volume.id, attachmentId }]
  const { nats, cellId } = running.cell.conductor
  const subject = reportSubject(cellId, host.id, 'power')
  nats.publish(subject, JSON.stringify({ id, powerState: 1, released }))

  const row = await cell.waitForFeed(
    'volume-released',
    (each) => each.attachmentId === attachmentId,
  )
  expect(row).toMatchObject({ volumeId: volume.id })
  await expect.poll(() => detach.mock.calls).toMatchObject([[id, attachmentId, {}]])
  list.mockRestore()
  detach.mockRestore()
})
