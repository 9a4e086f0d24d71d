import { Failure } from '#common/errors.ts'
import { IMAGE_TASK_STATUSES } from '#common/states/image-states.ts'
import {
  findTask,
  type ImageTask,
  type ImageTaskSortKey,
  listTasks,
  tasksOfImage,
} from '../../db/image-tasks.ts'
import type { Requester } from '../requester.ts'
import type { Images } from './images.ts'
import { visibleImage } from './visible-image.ts'

const LIMIT_DEFAULT = 25
const LIMIT_MAX = 1_000

export interface TaskQuery {
  readonly type?: string | undefined
  readonly status?: string | undefined
  readonly sort_key?: ImageTaskSortKey | undefined
  readonly sort_dir?: 'asc' | 'desc' | undefined
  readonly marker?: string | undefined
  readonly limit?: number | undefined
}

export interface TaskList {
  readonly tasks: readonly ImageTask[]
  /** Id of the last task when there may be more. */
  readonly nextMarker: string | undefined
}

/** The type of every import task. */
export const TASK_TYPE = 'api_image_import'

/** A page of the tasks of all projects. Throws `invalid` for a marker that is none. */
export async function imageTasks(images: Images, query: TaskQuery): Promise<TaskList> {
  const limit = Math.min(query.limit ?? LIMIT_DEFAULT, LIMIT_MAX)
  const hasNone = query.type !== undefined && query.type !== TASK_TYPE
  if (query.status !== undefined && !IMAGE_TASK_STATUSES.some((known) => known === query.status))
    throw new Failure('invalid', `Invalid status value: ${query.status}`)
  if (limit === 0 || hasNone) return { tasks: [], nextMarker: undefined }
  const tasks = await listTasks(images.db, {
    status: query.status,
    sortKey: query.sort_key ?? 'created_at',
    isDescending: query.sort_dir !== 'asc',
    marker: query.marker,
    limit,
  })
  if (tasks === undefined) throw new Failure('invalid', `Invalid marker: no task ${query.marker}.`)
  return { tasks, nextMarker: tasks.length === limit ? tasks.at(-1)?.id : undefined }
}

/** Throws `not-found`. */
export async function imageTask(images: Images, id: string): Promise<ImageTask> {
  const task = await findTask(images.db, id)
  if (task === undefined) throw new Failure('not-found', `Task not found with id ${id}`)
  return task
}

/** The imports of an image the requester may see, newest first. */
export async function importsOfImage(
  images: Images,
  requester: Requester,
  id: string,
): Promise<readonly ImageTask[]> {
  await visibleImage(images, requester, id)
  return tasksOfImage(images.db, id)
}
