import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { layoutIn, makeFolders } from '#deploy/deployment/layout.ts'
import type { CellRecord } from '#deploy/deployment/state.ts'
import { writeLogin } from '#deploy/nested/cloud-login.ts'
import { refuseOtherProject } from '#deploy/nested/same-project.ts'
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
