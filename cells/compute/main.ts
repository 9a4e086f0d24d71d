import { runProgram } from '#common/run-program.ts'

await runProgram(process.env, () => import('./run.ts'))
