import type { operations } from '#openapi/image.gen.ts'
import { imageTask } from '../../../app/images/tasks.ts'
import type { Handler } from '../../../http/operation.ts'
import { taskView } from '../../../views/image/task.ts'

/** GET /v2/tasks/{task_id} */
export const showTask: Handler<operations['showTask']> = async ({ app, params }) => {
  return { body: taskView(await imageTask(app.images, params.task_id)) }
}
