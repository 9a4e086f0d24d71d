import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { InstanceId, NetworkId } from '#common/ids.ts'
import { newId } from '#common/ids.ts'
import { isUsedByOthers } from './destroy.ts'
import { instanceFiles, instancesFolder } from './instance-files.ts'
import { type InstanceRecord, writeInstanceRecord } from './instance-record.ts'

test('an instance that is gone by the time its record is read uses no network any more', async () => {
  await using owned = new AsyncDisposableStack()
  const stateDirectory = await mkdtemp(join(tmpdir(), 'weir-destroy-'))
  owned.defer(() => rm(stateDirectory, { recursive: true, force: true }))
  await mkdir(instancesFolder(stateDirectory), { recursive: true })
  const [id, networkId] = [newId<InstanceId>(), newId<NetworkId>()]
  const record = { nics: [{ networkId }] } as unknown as InstanceRecord
  await writeInstanceRecord(instanceFiles(stateDirectory, id), record)
  const host = { stateDirectory, leaving: new Set<InstanceId>() }
  expect(await isUsedByOthers(host, networkId)).toBe(true)

  host.leaving.add(id)
  const asked = isUsedByOthers(host, networkId)
  host.leaving.delete(id)

  expect(await asked).toBe(false)
})
