import { loadLightly } from '#common/load-lightly.ts'

loadLightly()
const { run } = await import('./run.ts')
await run(process.env)
