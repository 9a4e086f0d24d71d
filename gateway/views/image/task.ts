import { TASK_TYPE } from '../../app/images/tasks.ts'
import type { ImageTask } from '../../db/image-tasks.ts'
import { zonedTime } from '../time.ts'

/** A task as lists of all tasks show it. */
function taskStubView(task: ImageTask) {
  return {
    id: task.id,
    type: TASK_TYPE,
    status: task.status,
    owner: task.owner,
    created_at: zonedTime(task.createdAt),
    updated_at: zonedTime(task.updatedAt),
    expires_at: task.expiresAt === null ? undefined : zonedTime(task.expiresAt),
    self: `/v2/tasks/${task.id}`,
    schema: '/v2/schemas/task',
  }
}

/** A task with what it was asked to do and how it ended. */
export function taskView(task: ImageTask) {
  const isDone = task.status === 'success'
  return {
    ...taskStubView(task),
    image_id: task.imageId,
    request_id: task.requestId,
    user_id: task.userId ?? undefined,
    input: { image_id: task.imageId, import_req: task.request },
    result: isDone ? { image_id: task.imageId } : null,
    message: task.message,
  }
}

/** A page of tasks; `search` is the query it was asked with. */
export function taskListView(
  tasks: readonly ImageTask[],
  nextMarker: string | undefined,
  search: string,
) {
  const pathWith = (marker: string | undefined) => {
    const query = new URLSearchParams(search)
    if (marker === undefined) query.delete('marker')
    else query.set('marker', marker)
    const text = query.toString()
    return text === '' ? '/v2/tasks' : `/v2/tasks?${text}`
  }
  return {
    tasks: tasks.map(taskStubView),
    first: pathWith(undefined),
    next: nextMarker === undefined ? undefined : pathWith(nextMarker),
    schema: '/v2/schemas/tasks',
  }
}
