import type { operations } from '#openapi/image.gen.ts'
import { importsOfImage } from '../../../app/images/tasks.ts'
import type { Handler } from '../../../http/operation.ts'
import { taskView } from '../../../views/image/task.ts'

/** GET /v2/images/{image_id}/tasks */
export const listTasksOfImage: Handler<operations['listTasksOfImage']> = async (call) => {
  const { app, context, params } = call
  const tasks = await importsOfImage(app.images, context, params.image_id)
  return { body: { tasks: tasks.map(taskView) } }
}
