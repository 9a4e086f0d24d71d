import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createFakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { FakeFigures } from './measure-fake.ts'

// Simulated hosts in this process, without computes: prints what their servers cost.

const HOSTS = 100
const SERVERS_PER_HOST = 1_000
const SERVERS = HOSTS * SERVERS_PER_HOST

const image = new TestImages().add(Buffer.from('x'), { properties: { hypervisor_type: 'fake' } })
const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const directory = mkdtempSync(join(tmpdir(), 'weir-fake-'))
const signal = new AbortController().signal
try {
  const drivers = Array.from({ length: HOSTS }, (_, nth) =>
    createFakeDriver({ owner, stateDirectory: join(directory, String(nth)) }, fakeSettings({})),
  )
  const bytesBefore = bytesUsed()
  const spawningAt = performance.now()
  for (const driver of drivers)
    for (let nth = 0; nth < SERVERS_PER_HOST; nth += 1)
      await driver.spawn(instanceSpec(image), signal)
  const roundBeganAt = performance.now()
  let seen = 0
  for (const driver of drivers) seen += (await driver.list(signal)).length
  const figures: FakeFigures = {
    hosts: HOSTS,
    servers: seen,
    spawnUs: ((roundBeganAt - spawningAt) * 1_000) / SERVERS,
    roundMs: performance.now() - roundBeganAt,
    bytesPerServer: (bytesUsed() - bytesBefore) / SERVERS,
  }
  process.stdout.write(JSON.stringify(figures))
  for (const driver of drivers) await driver[Symbol.asyncDispose]()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

function bytesUsed(): number {
  globalThis.gc?.()
  return process.memoryUsage.rss()
}
