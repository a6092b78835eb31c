//! Decides the statements.

use crate::job::{Answer, Job, Relation, Statement};
use crate::plain;
use crate::solver::Solver;
use anyhow::{Context as _, Result, anyhow, bail};
use cedar_policy::{Authorizer, Decision, Entities, PolicySet, Request, RequestEnv, Schema};
use cedar_policy_symcc::solver::LocalSolver;
use cedar_policy_symcc::{CedarSymCompiler, CompiledPolicySet, Env};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// A claim about two sets of policies.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub relation: Relation,
    pub left: &'a PolicySet,
    pub right: &'a PolicySet,
}

impl Claim<'_> {
    /// Whether it is false in this case, by Cedar itself.
    pub fn is_refuted_by(&self, request: &Request, entities: &Entities) -> bool {
        let allows = |set| Authorizer::new().is_authorized(request, set, entities).decision() == Decision::Allow;
        let wanted = self.relation == Relation::Disjoint;
        allows(self.left) && allows(self.right) == wanted
    }
}

/// Decides all statements, one after the other.
///
/// # Errors
/// If the schema or a set cannot be read, there is no solver, or an answer cannot be given. A statement that cannot be
/// decided is an answer with its problem.
pub async fn all(job: &Job, mut tell: impl FnMut(&Answer<'_>) -> Result<()>) -> Result<()> {
    let schema = Schema::from_cedarschema_str(&job.schema).context("the schema cannot be read")?.0;
    let sets: BTreeMap<&str, PolicySet> = job
        .sets
        .iter()
        .map(|(name, text)| {
            Ok((name.as_str(), text.parse().with_context(|| format!("the set '{name}' cannot be read"))?))
        })
        .collect::<Result<_>>()?;
    let environments: Vec<RequestEnv> = schema
        .request_envs()
        .filter(|one| !job.without.iter().any(|name| name == one.action().id().unescaped()))
        .collect();
    if environments.is_empty() {
        bail!("the schema has no action that statements could be about, so nothing can be proved");
    }
    let solver = Solver::find()?;
    let mut prover = Prover {
        schema: &schema,
        environments: &environments,
        plain: &job.plain,
        solver,
        compiler: None,
        compiled: HashMap::new(),
    };
    for statement in &job.statements {
        let started = Instant::now();
        let mut answer =
            Answer { id: &statement.id, actions: environments.len(), milliseconds: 0, case: None, problem: None };
        match prover.decide(statement, &sets).await {
            Ok(case) => answer.case = case,
            Err(problem) => answer.problem = Some(format!("{problem:#}")),
        }
        answer.milliseconds = started.elapsed().as_millis();
        tell(&answer)?;
    }
    Ok(())
}

struct Prover<'a> {
    schema: &'a Schema,
    environments: &'a [RequestEnv],
    plain: &'a BTreeMap<String, String>,
    solver: Solver,
    /// The running solver; none before the first question and after a failure.
    compiler: Option<CedarSymCompiler<LocalSolver>>,
    /// The sets as formulas, by their name and the position of the environment.
    compiled: HashMap<(String, usize), CompiledPolicySet>,
}

impl Prover<'_> {
    async fn decide(
        &mut self,
        statement: &Statement,
        sets: &BTreeMap<&str, PolicySet>,
    ) -> Result<Option<crate::job::Case>> {
        let set = |name: &str| sets.get(name).ok_or_else(|| anyhow!("there is no set '{name}'"));
        let claim = Claim { relation: statement.relation, left: set(&statement.left)?, right: set(&statement.right)? };
        for at in 0..self.environments.len() {
            let found = self.counterexample(statement, &claim, at).await;
            if found.is_err() {
                // it may have ended, or still be at it
                self.compiler = None;
            }
            let Some(Env { request, entities }) = found? else { continue };
            if !claim.is_refuted_by(&request, &entities) {
                return Err(anyhow!("the solver found a case that Cedar itself decides otherwise"));
            }
            return Ok(Some(plain::case(&claim, self.schema, self.plain, &request, &entities)?));
        }
        if statement.relation == Relation::Disjoint && !self.says_something(&statement.right).await? {
            bail!("no effect matches this rule, so it says nothing; check whether its conditions exclude each other");
        }
        Ok(None)
    }

    /// Whether a set allows anything.
    async fn says_something(&mut self, name: &str) -> Result<bool> {
        for at in 0..self.environments.len() {
            let set = self.compiled.get(&(name.to_owned(), at));
            let (Some(compiler), Some(set)) = (self.compiler.as_mut(), set) else { bail!("a set was not compiled") };
            if !compiler.check_always_denies_opt(set).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A case for one action in which the claim is false.
    async fn counterexample(&mut self, statement: &Statement, claim: &Claim<'_>, at: usize) -> Result<Option<Env>> {
        self.compile(&statement.left, claim.left, at)?;
        self.compile(&statement.right, claim.right, at)?;
        if self.compiler.is_none() {
            self.compiler = Some(CedarSymCompiler::new(self.solver.start()?)?);
        }
        let formula = |name: &str| self.compiled.get(&(name.to_owned(), at));
        let (Some(compiler), Some(left), Some(right)) =
            (self.compiler.as_mut(), formula(&statement.left), formula(&statement.right))
        else {
            return Err(anyhow!("a set was not compiled"));
        };
        Ok(match claim.relation {
            Relation::Disjoint => compiler.check_disjoint_with_counterexample_opt(left, right).await?,
            Relation::Implies => compiler.check_implies_with_counterexample_opt(left, right).await?,
        })
    }

    fn compile(&mut self, name: &str, set: &PolicySet, at: usize) -> Result<()> {
        let key = (name.to_owned(), at);
        if self.compiled.contains_key(&key) {
            return Ok(());
        }
        let environment = self.environments.get(at).context("no such action")?;
        let formula = CompiledPolicySet::compile(set, environment, self.schema)
            .with_context(|| format!("the set '{name}' cannot be compiled for {}", environment.action()))?;
        self.compiled.insert(key, formula);
        Ok(())
    }
}
