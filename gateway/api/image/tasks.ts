import type { operations } from '#openapi/image.gen.ts'
import { imageTask, imageTasks, importsOfImage } from '../../app/images/tasks.ts'
import type { Handler } from '../../http/operation.ts'
import { taskListView, taskView } from '../../views/image/task.ts'

/** GET /v2/images/{image_id}/tasks */
export const listTasksOfImage: Handler<operations['listTasksOfImage']> = async (call) => {
  const { app, context, params } = call
  const tasks = await importsOfImage(app.images, context, params.image_id)
  return { body: { tasks: tasks.map(taskView) } }
}

/** GET /v2/tasks */
export const listTasks: Handler<operations['listTasks']> = async ({ app, query, raw }) => {
  const { tasks, nextMarker } = await imageTasks(app.images, query)
  return { body: taskListView(tasks, nextMarker, raw.search) }
}

/** GET /v2/tasks/{task_id} */
export const showTask: Handler<operations['showTask']> = async ({ app, params }) => {
  return { body: taskView(await imageTask(app.images, params.task_id)) }
}
