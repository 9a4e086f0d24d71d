import { parentPort, workerData } from 'node:worker_threads'
import type { Expression } from './find-attacks.ts'
import { findAttack } from './pump.ts'

const expressions = workerData as readonly Expression[]
parentPort?.postMessage(expressions.map(({ source, flags }) => findAttack(source, flags)))
