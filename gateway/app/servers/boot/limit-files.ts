import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { InjectedFile } from '#openapi/wire/instance.ts'
import type { ProjectUser } from '../../../db/user-quota-limits.ts'
import { lowerLimit } from '../../quotas/quota-limits.ts'
import { type QuotaResource, UNLIMITED } from '../../quotas/resources.ts'

/**
 * Throws `over-quota` for more files, longer paths or more content than the project and the user may put into a guest
 * (nova/compute/api.py: `_check_injected_file_quota`).
 */
export async function limitFiles(
  db: Executor,
  owner: ProjectUser,
  files: readonly InjectedFile[],
): Promise<void> {
  if (files.length === 0) return
  const refuseBeyond = async (resource: QuotaResource, used: number, what: string) => {
    const limit = await lowerLimit(db, owner, resource)
    if (limit !== UNLIMITED && used > limit)
      throw new Failure('over-quota', `${what} ${used} exceeds the maximum of ${limit}`)
  }
  const longest = (lengths: readonly number[]) => Math.max(...lengths)
  const paths = files.map(({ path }) => Buffer.byteLength(path))
  const contents = files.map(({ contents: text }) => Buffer.from(text, 'base64').length)
  await refuseBeyond('injected_files', files.length, 'Personality file count')
  await refuseBeyond('injected_file_path_bytes', longest(paths), 'Personality file path length')
  await refuseBeyond(
    'injected_file_content_bytes',
    longest(contents),
    'Personality file content size in bytes',
  )
}
