import type { operations } from '#openapi/image.gen.ts'
import { imageTasks } from '../../../app/images/tasks.ts'
import type { Handler } from '../../../http/operation.ts'
import { taskListView } from '../../../views/image/task.ts'

/** GET /v2/tasks */
export const listTasks: Handler<operations['listTasks']> = async ({ app, query, raw }) => {
  const { tasks, nextMarker } = await imageTasks(app.images, query)
  return { body: taskListView(tasks, nextMarker, raw.search) }
}
