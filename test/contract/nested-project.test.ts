import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { layoutIn, makeFolders } from '#deploy/deployment/layout.ts'
import type { CellRecord } from '#deploy/deployment/state.ts'
import { writeLogin } from '#deploy/nested/cloud-login.ts'
import { refuseOtherProject } from '#deploy/nested/same-project.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { StubCloud } from '../env/stub-cloud.ts'

test('a credential for another project than the servers of a cell are in is refused, named with theirs', async () => {
  await using cloud = await StubCloud.start()
  const layout = layoutIn(mkdtempSync(join(tmpdir(), 'weir-project-')))
  makeFolders(layout)
  const network = { networks: '127.0.0.0/8', allow_http: 'true' }
  const settings = { auth_url: cloud.url, projects: 'any', ...network }
  const login = (id: string) => ({
    application_credential_id: id,
    application_credential_secret: 'secret',
  })
  const cell = { name: 'lab', cloud: { settings, projectId: 'project' } } as unknown as CellRecord
  const before = { name: 'lab', cloud: { settings } } as unknown as CellRecord
  try {
    await writeLogin(layout, 'lab', login('ours'))
    cloud.projects.set('theirs', 'other')

    for (const known of [cell, before]) {
      await refuseOtherProject(layout, known, login('renewed'))
      await expect(refuseOtherProject(layout, known, login('theirs'))).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringMatching(/for project other, and .* cell lab are in project project/),
      })
    }
  } finally {
    rmSync(layout.home, { recursive: true })
  }
})

test('a host whose login was replaced by one for another project is down until its own is back', async () => {
  await using cloud = await StubCloud.start()
  cloud.projects.set('theirs', 'other')
  const stateDirectory = mkdtempSync(join(tmpdir(), 'weir-project-'))
  const file = join(stateDirectory, 'login')
  const logInAs = (id: string) => {
    const login = { application_credential_id: id, application_credential_secret: 'secret' }
    writeFileSync(file, JSON.stringify(login))
  }
  logInAs('ours')
  const settings = nestedSettings({
    ...{ auth_url: cloud.url, login_file: file, projects: 'any', poll_ms: '20' },
    ...{ networks: '127.0.0.0/8', allow_http: 'true' },
  })
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const images = new TestImages()
  const spec = instanceSpec(images.add(Buffer.from('x')))
  const signal = () => AbortSignal.timeout(20_000)
  const start = () => createNestedDriver({ owner, stateDirectory, images }, settings)
  try {
    await using first = await start()
    await first.spawn(spec, signal())

    logInAs('theirs')
    await using second = await start()
    for (const ask of [second.inventory(signal()), second.list(signal())])
      await expect(ask).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('a project other than that of its servers'),
        detail: 'it is for project other, and they are in project',
      })
    await expect(second.destroy(spec.id, signal())).rejects.toMatchObject({ kind: 'unavailable' })

    logInAs('ours')
    expect(await second.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  } finally {
    rmSync(stateDirectory, { recursive: true })
  }
})
